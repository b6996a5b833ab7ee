import type { DescService } from "@bufbuild/protobuf";
import type { ServerWritableStream, UntypedHandleCall } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import { reflectionServices } from "./reflection.js";
import { type GrpcService, grpcServicesOf } from "./service.js";

type OpenCall = Pick<ServerWritableStream<unknown, unknown>, "end" | "once">;

export interface InfrastructureOptions {
  readonly service: DescService;
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
}

/**
 * The services that serve the server itself: its health, and its descriptors by reflection. Clients keep their streams
 * open for as long as they are connected, so a server that waited for them would never drain.
 */
export class InternalServices {
  /** To be added to a server; their streams are noted while they are open. */
  readonly services: readonly GrpcService[];
  readonly #open = new Set<OpenCall>();
  readonly #health: HealthImplementation;
  readonly #name: string;

  constructor({ service, reflection = true }: InfrastructureOptions) {
    this.#name = service.typeName;
    this.#health = new HealthImplementation({ "": "SERVING", [service.typeName]: "SERVING" });
    const own = grpcServicesOf((target) => this.#health.addToServer(target));
    if (reflection) own.push(...reflectionServices(service.file, own));
    this.services = own.map((addable) => this.#watched(addable));
  }

  /** What the health service says of the server as a whole and of its service. It begins with true. */
  setServing(serving: boolean): void {
    for (const name of ["", this.#name]) this.#health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  }

  /** Ends all open streams. */
  end(): void {
    for (const call of this.#open) call.end();
  }

  #watched({ definition, implementation }: GrpcService): GrpcService {
    const handlers = Object.entries(implementation).map(([name, handler]) => [name, this.#noted(handler)]);
    return { definition, implementation: Object.fromEntries(handlers) };
  }

  #noted(handler: UntypedHandleCall): (call: OpenCall, ...rest: unknown[]) => void {
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
