import type {
  Server,
  ServerWritableStream,
  ServiceDefinition,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";

/** A service ready to be added to a server. */
export interface Addable {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** The services that a package would add to a server. */
export function addablesOf(add: (server: Pick<Server, "addService">) => void): Addable[] {
  const services: Addable[] = [];
  add({ addService: (definition, implementation) => services.push({ definition, implementation }) });
  return services;
}

type OpenCall = Pick<ServerWritableStream<unknown, unknown>, "end" | "once">;

/**
 * Streams of services that serve the server itself, such as watching its health or reading its descriptors. Clients
 * keep them open for as long as they are connected, so a server that waited for them would never drain.
 */
export class Infrastructure {
  readonly #open = new Set<OpenCall>();

  /** The same service, its streams noted while they are open. */
  watched({ definition, implementation }: Addable): Addable {
    const handlers = Object.entries(implementation).map(([name, handler]) => [name, this.#watched(handler)]);
    return { definition, implementation: Object.fromEntries(handlers) };
  }

  /** Ends all open streams. */
  end(): void {
    for (const call of this.#open) call.end();
  }

  #watched(handler: UntypedHandleCall): (call: OpenCall, ...rest: unknown[]) => void {
    return (call, ...rest) => {
      if ("end" in call) {
        this.#open.add(call);
        // grpc-js says so at the end of every call, however it ended.
        call.once("cancelled", () => this.#open.delete(call));
      }
      Reflect.apply(handler, undefined, [call, ...rest]);
    };
  }
}
