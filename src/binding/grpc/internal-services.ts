import type { DescService } from "@bufbuild/protobuf";
import { Health } from "./health.js";
import type { InternalService } from "./internal-service.js";
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
