library shop;

import 'dart:async';
import 'package:shop/item.dart' show Item, Price;
import 'store.dart' as store;
export 'price.dart';

/// How many are kept.
const int capacityMax = 64;
final queue = <Item>[];

typedef Listener = void Function(Item item);

enum Color { red, green }

mixin Logged {
  void log(String text) => print(text);
}

/// What is bought.
@immutable
abstract class Cart<T extends Item> extends Base with Logged implements Store {
  final List<T> items = [];
  static const none = 'none';
  late String _name;

  Cart(this._name);
  Cart.empty() : this('');
  factory Cart.of(String name) {
    return Cart(name);
  }

  int get count => items.length;

  set name(String value) {
    _name = value;
  }

  // Adds one.
  @override
  Future<void> add(T item) async {
    items.add(item);
    await store.save(item);
    listener?.changed(item);
  }

  void sort();

  bool operator ==(Object other) => identical(this, other);
}

extension Texts on String {
  String clean() => trim();
}

int total(Cart cart) {
  int price(Item item) {
    return item.price;
  }
  return cart.items.map(price).fold(0, (a, b) => a + b);
}

String get greeting => 'hello';

void main() {
  final cart = new Cart.of('a');
  cart..add(Item('b'))..sort();
  print(total(cart));
}
