import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import type { LazyMethod } from "../../version/lazy-service.js";
import { isSideEffectFree } from "../../wire/side-effects.js";
import type { LazyServiceOptions, ServiceBindingOptions } from "../binding.js";
import { OnFirstCall } from "../lazy-service.js";
import { OrdinaryUnary } from "./unary.js";

/** Registers all methods of a service that is there. */
export type Register = (router: ConnectRouter, options: ServiceBindingOptions) => void;

/** What there is of a method whose service is loaded with its first call. */
export interface Later {
  /** What answers ordinary calls; undefined until the service is loaded. */
  readonly unary: () => OrdinaryUnary | undefined;
  /** Loads the service; undefined once it is there. */
  readonly load: () => Promise<unknown> | undefined;
}

interface Made {
  readonly handler: UniversalHandler;
  readonly unary: OrdinaryUnary | undefined;
}

/**
 * Registers the methods of a service that is loaded with its first call: a handler stands in for each until then. What handlers say of
 * themselves before they are called depends on the kind of their method alone, so it is that of a method that is there.
 *
 * @returns what there is of them later, by the paths of the methods
 */
export function registerLazily(
  router: ConnectRouter,
  options: LazyServiceOptions,
  { compressions, register }: { readonly compressions: readonly Compression[]; readonly register: Register },
): ReadonlyMap<string, Later> {
  const { typeName, methods } = options.service;
  const there = [...router.handlers];
  const made = new OnFirstCall(options, (loaded): ReadonlyMap<string, Made> => {
    const before = router.handlers.length;
    register(router, loaded);
    const handlers = router.handlers.splice(before);
    return new Map(handlers.map((handler) => [handler.requestPath, madeOf(handler, loaded, compressions)]));
  });
  const load = (): Promise<unknown> | undefined => (made.made === undefined ? made.make() : undefined);
  const later = new Map<string, Later>();
  for (const method of methods) {
    const requestPath = `/${typeName}/${method.name}`;
    const like = likeOf(method, there);
    if (like === undefined) continue;
    const standIn: (...asked: Parameters<UniversalHandler>) => ReturnType<UniversalHandler> = async (request) => {
      const found = (made.made ?? (await made.make())).get(requestPath);
      if (found === undefined)
        throw new TypeError(`${requestPath} is in the table of ${typeName}, and not in its contract`);
      return found.handler(request);
    };
    const named = { method: { ...like.method, name: method.name } as DescMethod, service: serviceOf(like, typeName) };
    router.handlers.push(Object.assign(standIn, { ...like, ...named, requestPath }));
    later.set(requestPath, { unary: () => made.made?.get(requestPath)?.unary, load });
  }
  return later;
}

function madeOf(handler: UniversalHandler, options: ServiceBindingOptions, compressions: readonly Compression[]): Made {
  const method = options.service.methods.find(({ name }) => name === handler.method.name);
  const isUnary = method?.methodKind === "unary";
  return { handler, unary: isUnary ? new OrdinaryUnary(method, options, compressions) : undefined };
}

function serviceOf({ service }: UniversalHandler, typeName: string): DescService {
  return { ...service, typeName };
}

/** A handler of a method of the same kind. */
function likeOf({ isStream, isRead }: LazyMethod, handlers: readonly UniversalHandler[]): UniversalHandler | undefined {
  const kind = isStream ? "server_streaming" : "unary";
  const ofKind = handlers.filter(({ method }) => method.methodKind === kind);
  return ofKind.find(({ method }) => isSideEffectFree(method) === isRead) ?? ofKind[0];
}
