import { lazyImport } from "../../core/lazy.js";

/** The package that connects to NATS. Its types are restated here because the first install does not have it. */
const PACKAGE = "@nats-io/transport-node";

/** A connection, as far as it is used here. */
export interface NatsConnection {
  publish(subject: string, payload: string): void;
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessage) => void },
  ): { unsubscribe(): void };
  /** Rejects at once without a subscriber. */
  request(subject: string, payload: string, options: { timeout: number }): Promise<unknown>;
  flush(): Promise<void>;
  status(): AsyncIterable<{ readonly type: string }>;
  /** Resolves when the connection has closed for good, to the error if one caused it. */
  closed(): Promise<unknown>;
  close(): Promise<void>;
}

export interface NatsMessage {
  string(): string;
  respond(payload: string): boolean;
}

/** The module, as far as it is used here. */
export interface NatsTransport {
  connect(options: Record<string, unknown>): Promise<NatsConnection>;
}

/** Imports the package, an optional peer. */
export const natsTransport: () => Promise<NatsTransport> = lazyImport(async () => {
  try {
    return (await import(PACKAGE)) as NatsTransport;
  } catch (cause) {
    throw new Error(`natsSignals needs the package ${PACKAGE}, which could not be loaded.`, { cause });
  }
});
