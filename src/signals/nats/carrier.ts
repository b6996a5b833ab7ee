import { background, backoffMs, within } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import { membersOf } from "../../core/members.js";
import type { Carrier } from "../carrier.js";
import type { NatsConnection, NatsMessage, NatsTransport } from "./transport.js";

/** Interval of pings, in milliseconds. After two missed pings, the client reconnects. */
const PING_MS = 5_000;

/** Timeout of a connection attempt, in milliseconds. */
const CONNECT_MS = 5_000;

/** Time between attempts to connect again, in milliseconds. */
const RETRY = { firstMs: 100, maxMs: 2_000, jitter: 0.5 };

/** Time for the process of a member to acknowledge a text, in milliseconds. */
const ACKNOWLEDGE_MS = 1_000;

/** Time to send the last texts when the carrier closes, in milliseconds. */
const CLOSE_MS = 1_000;

export interface NatsCarrierOptions {
  readonly transport: NatsTransport;
  /** Options of the package's `connect`: servers and login. */
  readonly connection: Record<string, unknown>;
  readonly prefix: string;
  readonly logger: Logger;
}

/**
 * Carries signals over NATS, with one subject for all and one for each member. A subject for each task would spare
 * processes the changes of tasks that they do not use, but the subscriptions would cost more than those changes.
 */
export class NatsCarrier implements Carrier {
  /** Far below the limit of NATS servers, 1 MB by default. */
  readonly maxBytes = 32_768;
  readonly #options: NatsCarrierOptions;
  readonly #all: string;
  #hear: (text: string) => void = () => {};
  #connection: NatsConnection | undefined;
  /** False during a reconnect: texts would wait and be outdated when sent. */
  #isUp = false;
  readonly #members = new Map<string, { unsubscribe(): void } | undefined>();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(options: NatsCarrierOptions) {
    this.#options = options;
    this.#all = `${options.prefix}.all`;
  }

  open(hear: (text: string) => void): void {
    this.#hear = hear;
    void this.#connect();
  }

  broadcast(texts: readonly string[]): void {
    for (const text of texts) this.#publish(text);
  }

  async send(to: string, text: string): Promise<boolean> {
    if (this.#connection === undefined || !this.#isUp) return false;
    try {
      await this.#connection.request(this.#subjectOf(to), text, { timeout: ACKNOWLEDGE_MS });
      return true;
    } catch (error) {
      // A process that does not acknowledge in time may still carry the request out.
      const { isNoResponders } = membersOf(error);
      return !(typeof isNoResponders === "function" && isNoResponders.call(error) === true);
    }
  }

  joined(name: string): void {
    this.#members.set(name, undefined);
    if (this.#connection !== undefined) this.#subscribe(this.#connection, name);
  }

  left(name: string): void {
    try {
      this.#members.get(name)?.unsubscribe();
    } catch {
      // The connection is closed.
    }
    this.#members.delete(name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const connection = this.#connection;
    if (connection === undefined) return;
    if (this.#isUp) await within(CLOSE_MS, connection.flush()).catch(() => {});
    await within(CLOSE_MS, connection.close()).catch(() => {});
  }

  #publish(text: string): void {
    if (!this.#isUp) return;
    try {
      this.#connection?.publish(this.#all, text);
    } catch {
      // The connection closes at this moment, or the server takes only shorter texts.
    }
  }

  async #connect(): Promise<void> {
    const { transport, connection, logger } = this.#options;
    try {
      const made = await transport.connect({
        name: "parley",
        timeout: CONNECT_MS,
        reconnectTimeWait: RETRY.maxMs / 2,
        ...connection,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        noEcho: true,
        pingInterval: PING_MS,
        maxPingOut: 2,
      });
      if (this.#isClosed) return void made.close().catch(() => {});
      this.#use(made);
    } catch (error) {
      this.#noteDown(error);
      this.#retry();
      return;
    }
    logger.info({}, "connected to NATS");
  }

  #use(connection: NatsConnection): void {
    this.#connection = connection;
    this.#isUp = true;
    this.#failures = 0;
    const callback = (error: Error | null, message: NatsMessage): void => {
      if (error === null) this.#hear(message.string());
    };
    connection.subscribe(this.#all, { callback });
    for (const name of this.#members.keys()) this.#subscribe(connection, name);
    void this.#watch(connection);
    void connection.closed().then((error) => this.#lose(connection, error));
  }

  #subscribe(connection: NatsConnection, name: string): void {
    const callback = (error: Error | null, message: NatsMessage): void => {
      if (error !== null) return;
      // Tells the sender that this process exists.
      message.respond("");
      this.#hear(message.string());
    };
    this.#members.set(name, connection.subscribe(this.#subjectOf(name), { callback }));
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect") {
        this.#isUp = false;
        if (!this.#isClosed) this.#noteDown(undefined);
      } else if (type === "reconnect") {
        this.#isUp = true;
        this.#options.logger.info({}, "connected to NATS again");
      }
    }
  }

  #lose(connection: NatsConnection, error: unknown): void {
    if (this.#connection !== connection || this.#isClosed) return;
    this.#connection = undefined;
    this.#isUp = false;
    this.#noteDown(error);
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#timer = background(setTimeout(() => void this.#connect(), backoffMs(++this.#failures, RETRY)));
  }

  #noteDown(error: unknown): void {
    if (this.#isClosed || this.#failures > 0) return;
    // Errors of the package may hold its options, with the login.
    const { name, message } = membersOf(error);
    const why = error === undefined || error === null ? {} : { why: `${String(name)}: ${String(message)}` };
    this.#options.logger.warn(why, "NATS cannot be reached: changes by other servers are seen by polling until it is");
  }

  #subjectOf(member: string): string {
    return `${this.#options.prefix}.to.${/^[\w-]+$/.test(member) ? member : Buffer.from(member).toString("base64url")}`;
  }
}
