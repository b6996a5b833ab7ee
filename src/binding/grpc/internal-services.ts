import { create, type DescService } from "@bufbuild/protobuf";
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  Health as HealthContract,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../../gen/grpc/health/v1/health_pb.js";
import { StatusCode } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { type InternalService, StatusError } from "./internal-service.js";
import { type LaterService, reflectionServices } from "./reflection.js";

interface InfrastructureOptions {
  readonly service: DescService;
  /** Further services, such as those of other versions. */
  readonly others?: readonly LaterService[];
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
}

/**
 * The services about the server itself: its health, and its descriptors by reflection. Clients keep these streams open
 * while they are connected, so a server that waited for them would never drain.
 */
export class InternalServices {
  readonly services: readonly InternalService[];
  readonly #open = new Set<() => void>();
  readonly #health: Health;

  constructor({ service, others = [], reflection = true }: InfrastructureOptions) {
    // Versions with the same package are one service to clients.
    const served = [service, ...others.filter(({ typeName }) => typeName !== service.typeName)];
    this.#health = new Health(["", ...served.map(({ typeName }) => typeName)]);
    const health = this.#health.service;
    this.services = [health, ...(reflection ? reflectionServices([...served, health.service]) : [])];
  }

  /** Sets the health of the whole server and of its services, initially true. */
  setServing(serving: boolean): void {
    this.#health.setServing(serving);
  }

  /** Registers the function that ends an open stream. The returned function removes it. */
  opened(end: () => void): () => void {
    this.#open.add(end);
    return () => void this.#open.delete(end);
  }

  /** Ends all open streams. */
  end(): void {
    for (const end of [...this.#open]) end();
  }
}

/** The standard health service (grpc.health.v1) of a server and its services. Their initial status is SERVING. */
class Health {
  readonly #status: Map<string, Serving>;
  readonly #watchers = new Set<(name: string) => void>();

  /** @param names names of services; the empty name is the whole server */
  constructor(names: readonly string[]) {
    this.#status = new Map(names.map((name) => [name, Serving.SERVING]));
  }

  /** Sets the status of all services, and notifies the watchers of those that changed. */
  setServing(serving: boolean): void {
    const status = serving ? Serving.SERVING : Serving.NOT_SERVING;
    for (const [name, before] of this.#status) {
      if (before === status) continue;
      this.#status.set(name, status);
      for (const notify of this.#watchers) notify(name);
    }
  }

  get service(): InternalService {
    return {
      service: HealthContract,
      methods: {
        Check: {
          kind: "unary",
          answer: (request) => this.#check(expectMessage(HealthCheckRequestSchema, request).service),
        },
        List: { kind: "unary", answer: () => create(HealthListResponseSchema, { statuses: this.#all() }) },
        Watch: {
          kind: "server_streaming",
          watch: (request, notify) => this.#watch(expectMessage(HealthCheckRequestSchema, request).service, notify),
        },
      },
    };
  }

  #check(name: string): HealthCheckResponse {
    const known = this.#status.get(name);
    if (known === undefined) throw new StatusError(StatusCode.NOT_FOUND, `Health status unknown for service ${name}`);
    return create(HealthCheckResponseSchema, { status: known });
  }

  #all(): Record<string, HealthCheckResponse> {
    const all = [...this.#status].map(([name, known]) => [name, create(HealthCheckResponseSchema, { status: known })]);
    return Object.fromEntries(all);
  }

  #watch(name: string, notify: (answer: HealthCheckResponse) => void): () => void {
    const show = (changed: string): void => {
      if (changed !== name) return;
      notify(create(HealthCheckResponseSchema, { status: this.#status.get(name) ?? Serving.SERVICE_UNKNOWN }));
    };
    this.#watchers.add(show);
    show(name);
    return () => void this.#watchers.delete(show);
  }
}
