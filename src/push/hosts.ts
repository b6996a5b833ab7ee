import { Host, type HostLimits, mostWaiting } from "./host.js";

/** Hosts that are remembered; of more, those that have failed the longest ago are forgotten first. */
const MAX_HOSTS = 10_000;

/** The hosts that receive notifications, as far as there is something to remember of them. */
export class Hosts<T> {
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host<T>>();

  constructor(limits: HostLimits) {
    this.#limits = limits;
  }

  /** A host by its key. */
  get(key: string, now: number): Host<T> {
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_HOSTS) this.#forget(now);
    const host = new Host<T>(key, this.#limits);
    this.#hosts.set(key, host);
    return host;
  }

  /** How many more may be claimed for each that is busy, and for each of the others. */
  rooms(): { readonly of: ReadonlyMap<string, number>; readonly others: number } {
    const of = new Map<string, number>();
    for (const [key, { room }] of this.#hosts) if (room !== undefined) of.set(key, room);
    return { of, others: this.#limits.maxDeliveriesPerHost + mostWaiting(this.#limits) };
  }

  /** All of which something is known. */
  all(): Host<T>[] {
    return [...this.#hosts.values()];
  }

  #forget(now: number): void {
    for (const [key, host] of this.#hosts) if (host.isForgettable(now)) this.#hosts.delete(key);
    for (const [key, host] of this.#hosts) {
      if (this.#hosts.size < MAX_HOSTS) return;
      if (host.working === 0 && host.waiting.length === 0) this.#hosts.delete(key);
    }
  }
}
