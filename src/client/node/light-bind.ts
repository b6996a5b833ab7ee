import { AsyncResource } from "node:async_hooks";

type Bind = AsyncResource["bind"];

/** Returns a function that runs work in the resource's context, as Node's own `bind` does. */
function light(this: AsyncResource, work: (this: unknown, ...args: unknown[]) => unknown, thisArg?: unknown): unknown {
  const resource = this;
  return function (this: unknown, ...args: unknown[]): unknown {
    return resource.runInAsyncScope(work, thisArg === undefined ? this : thisArg, ...args);
  };
}

/**
 * True if `bind` gives each function a property `asyncResource` whose accessors warn of its use (DEP0172), as before Node.js 24.
 * `node:http2` binds a function for each request and never reads the property. Making it was a third of the client's CPU time for a
 * call over gRPC, much of it garbage collection.
 */
const isHeavy: boolean = (() => {
  const isWritable = Object.getOwnPropertyDescriptor(AsyncResource.prototype, "bind")?.writable === true;
  return isWritable && Object.hasOwn(new AsyncResource("parley").bind(noop), "asyncResource");
})();

function noop(): void {}

/** Does synchronous work whose calls of `AsyncResource.bind` make functions without that property. All else they do is the same. */
export function withLightBind<T>(work: () => T): T {
  if (!isHeavy) return work();
  const { prototype } = AsyncResource;
  const own: Bind = prototype.bind;
  prototype.bind = light as Bind;
  try {
    return work();
  } finally {
    prototype.bind = own;
  }
}
