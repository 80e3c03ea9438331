import type { Job } from "./job";
import { EventEmitter } from "node:events";

export type JobId = string & { readonly brand: unique symbol };

/** Where jobs are kept. */
export interface Store<T extends Job> extends Iterable<T> {
  readonly size: number;
  put(job: T): Promise<void>;
  take(limit?: number): Promise<T[]>;
}

export enum State {
  Waiting = "waiting",
  Running = "running",
}

export namespace Limits {
  export const concurrency = 4;
  export function check(n: number): boolean {
    return n <= concurrency;
  }
}

/** Runs jobs, the oldest first. */
@injectable()
export class Queue<T extends Job> extends EventEmitter implements Store<T> {
  private jobs: T[] = [];
  static readonly instances = new Map<string, Queue<any>>();

  constructor(private readonly store: Store<T>, public limit = Limits.concurrency) {
    super();
    Queue.instances.set("default", this);
  }

  get size(): number {
    return this.jobs.length;
  }

  async put(job: T): Promise<void> {
    this.jobs.push(job);
    this.emit("put", job);
    await this.store.put(job);
  }

  async take(limit = 1): Promise<T[]> {
    return this.jobs.splice(0, limit);
  }

  abstract drain(): void;
}

export const make = <T extends Job>(store: Store<T>): Queue<T> => new Queue(store);

export abstract class Base {
  abstract run(): void;
}

declare function log(message: string): void;

export default function main(): void {
  log(State.Waiting);
  make<Job>(undefined as never);
}
