import React, { useState, useMemo as memo } from 'react';
import * as money from "./money.js";
import './cart.css';
const { readFile } = require('node:fs/promises');
export { total as sum } from './sums.js';

export const TAX_RATE = 0.2;
let cache;

/**
 * Adds up a cart.
 * @param {Item[]} items
 */
export function total(items) {
  return items.reduce((sum, item) => sum + item.price * item.count, 0);
}

// Rounds to cents.
const round = (amount) => Math.round(amount * 100) / 100;

export default class Cart extends Base {
  #items = [];
  static currency = 'EUR';

  constructor(items) {
    super();
    this.#items = items;
  }

  get size() {
    return this.#items.length;
  }

  async load(path) {
    const text = await readFile(path, 'utf8');
    this.#items = JSON.parse(text);
    return new Cart(this.#items);
  }

  onChange = (event) => {
    this.#notify(event.target.value);
  };

  #notify(value) {
    console.log(value);
  }
}

function* ids() {
  let id = 0;
  while (true) yield id++;
}

export const CartView = ({ cart }) => {
  const [open, setOpen] = useState(false);
  const sum = memo(() => round(total(cart.items)), [cart]);
  return (
    <Panel open={open} onClick={() => setOpen(!open)}>
      <Price value={money.format(sum)} />
    </Panel>
  );
};

module.exports.legacy = function legacyTotal(items) {
  return total(items);
};

const handlers = {
  add(item) { cache.push(item); },
  remove: (item) => cache.delete(item),
};
