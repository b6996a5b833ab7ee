import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import type { MethodShape } from "../../version/version.js";
import { isSideEffectFree } from "../../wire/field-rules.js";
import { type OlderServiceOptions, olderTable, type ServiceBindingOptions } from "../binding.js";
import { OrdinaryUnary } from "./unary.js";

/** Registers all methods of a loaded service. */
export type Register = (router: ConnectRouter, options: ServiceBindingOptions) => void;

/** A method of a service that is loaded later. */
export interface Later {
  /** Answers ordinary calls; undefined until the service is loaded. */
  readonly unary: () => OrdinaryUnary | undefined;
  /** Loads the service; undefined once it is loaded. */
  readonly load: () => Promise<unknown> | undefined;
}

interface Made {
  readonly handler: UniversalHandler;
  readonly unary: OrdinaryUnary | undefined;
}

/**
 * Registers the methods of another version's service. Each has a placeholder until the version is loaded. The
 * properties of a handler depend only on the kind of its method, so they are copied from a method of the same kind.
 *
 * @returns the methods by path
 */
export function registerOlder(
  router: ConnectRouter,
  options: OlderServiceOptions,
  { compressions, register }: { readonly compressions: readonly Compression[]; readonly register: Register },
): ReadonlyMap<string, Later> {
  const { typeName, methods } = options.service;
  const there = [...router.handlers];
  const table = olderTable(options, (loaded): ReadonlyMap<string, Made> => {
    const before = router.handlers.length;
    register(router, loaded);
    const handlers = router.handlers.splice(before);
    return new Map(handlers.map((handler) => [handler.requestPath, madeOf(handler, loaded, compressions)]));
  });
  const load = (): Promise<unknown> | undefined => (table.now === undefined ? table.get() : undefined);
  const later = new Map<string, Later>();
  for (const method of methods) {
    const requestPath = `/${typeName}/${method.name}`;
    const like = likeOf(method, there);
    if (like === undefined) continue;
    const placeholder: (...asked: Parameters<UniversalHandler>) => ReturnType<UniversalHandler> = async (request) => {
      const found = (table.now ?? (await table.get())).get(requestPath);
      if (found === undefined)
        throw new TypeError(`${requestPath} is in the table of ${typeName}, and not in its contract`);
      return found.handler(request);
    };
    const named = { method: { ...like.method, name: method.name } as DescMethod, service: serviceOf(like, typeName) };
    router.handlers.push(Object.assign(placeholder, { ...like, ...named, requestPath }));
    later.set(requestPath, { unary: () => table.now?.get(requestPath)?.unary, load });
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

/** Returns a handler of a method of the same kind. */
function likeOf(
  { isStream, isRead }: MethodShape,
  handlers: readonly UniversalHandler[],
): UniversalHandler | undefined {
  const kind = isStream ? "server_streaming" : "unary";
  const ofKind = handlers.filter(({ method }) => method.methodKind === kind);
  return ofKind.find(({ method }) => isSideEffectFree(method) === isRead) ?? ofKind[0];
}
