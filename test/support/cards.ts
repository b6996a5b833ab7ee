import { CardCache } from "../../src/client/discovery/card-cache.js";

/** The caches that have kept a card. */
const caches = new Set<CardCache>();

const { keep } = CardCache.prototype;
CardCache.prototype.keep = function (...args) {
  caches.add(this);
  keep.apply(this, args);
};

/** Forgets the cards of servers that are gone: the system gives their ports to servers of other tests. */
export function forgetCards(): void {
  for (const cache of caches) cache.clear();
}
