import type { DescService } from "@bufbuild/protobuf";
import { Health } from "./health.js";
import type { InternalService } from "./internal-service.js";
import { type LaterService, reflectionServices } from "./reflection.js";

export interface InfrastructureOptions {
  readonly service: DescService;
  /** Services beside it, such as those of other versions. */
  readonly others?: readonly LaterService[];
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
}

/**
 * The services that serve the server itself: its health, and its descriptors by reflection. Clients keep their streams
 * open for as long as they are connected, so a server that waited for them would never drain.
 */
export class InternalServices {
  readonly services: readonly InternalService[];
  readonly #open = new Set<() => void>();
  readonly #health: Health;

  constructor({ service, others = [], reflection = true }: InfrastructureOptions) {
    // Versions whose package is the same are one service to whoever asks.
    const served = [service, ...others.filter(({ typeName }) => typeName !== service.typeName)];
    this.#health = new Health(["", ...served.map(({ typeName }) => typeName)]);
    const health = this.#health.service;
    this.services = [health, ...(reflection ? reflectionServices([...served, health.service]) : [])];
  }

  /** What the health service says of the server as a whole and of its service. It begins with true. */
  setServing(serving: boolean): void {
    this.#health.setServing(serving);
  }

  /** Notes a stream that is open, by what ends it, until what this returns is called. */
  opened(end: () => void): () => void {
    this.#open.add(end);
    return () => void this.#open.delete(end);
  }

  /** Ends all open streams. */
  end(): void {
    for (const end of [...this.#open]) end();
  }
}
