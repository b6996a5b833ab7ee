import { utf8Of } from "../core/bytes.js";
import { guardedLogger, silentLogger } from "../core/log.js";
import { given } from "../core/options.js";
import {
  NOTIFICATION_TOKEN,
  OTHER_NOTIFICATION_TOKEN,
  PUSH_CONFIG,
  PUSH_GENERATION,
  PUSH_RESTORATION,
  PUSH_SIGNATURE,
  PUSH_TEST,
  PUSH_TEST_ID,
  pushAudience,
  pushEventId,
  pushEventText,
  WEBHOOK_ID,
  WEBHOOK_SIGNATURE,
  WEBHOOK_TIMESTAMP,
} from "../wire/webhook.js";
import { base64urlOf, sha256 } from "./bytes.js";
import { type PushEvent, type PushSignature, readBody } from "./event.js";
import { Handling, type PushHandler, type VerifiedPush } from "./handling.js";
import { pushMemory } from "./memory.js";
import { type NodePushHandler, nodeHandler } from "./node.js";
import { defaultJwks, defaultReceiverLimits, type PushReceiverOptions, plainUrl, receiverFaults } from "./options.js";
import { PushRefusal } from "./refusal.js";
import { type PushRequest, type ReadRequest, readRequest } from "./request.js";
import { type IsKnown, lookup } from "./secrets.js";
import { WebhookVerifier } from "./standard-webhook.js";
import { TokenVerifier } from "./token.js";

/** Receives, verifies and deduplicates notifications. */
export interface PushReceiver {
  /**
   * Verifies one notification and returns its event. It does not mark the event as handled: call `handled` afterwards,
   * otherwise a repeat counts as new.
   *
   * @throws PushRefusal with the code and the HTTP status of the fault. Any other error is internal: answer 500.
   */
  receive(request: PushRequest): Promise<PushEvent>;
  /** Marks a notification from `receive` as handled, so that later copies are repeats. */
  handled(event: PushEvent): Promise<void>;
  /**
   * A webhook for servers of the Fetch API, such as Hono, Next.js, Deno or workerd. Answers 204 after the handler is
   * done, and for repeats and test events, which are not handled; 4xx if rejected; 500 if the handler throws, so that
   * the sender retries.
   */
  fetch(handle: PushHandler): (request: Request) => Promise<Response>;
  /** A webhook for `node:http` and Express, before any body parser (or after `express.raw`). */
  handler(handle: PushHandler): NodePushHandler;
}

/**
 * Creates a webhook for push notifications of A2A servers (specification 4.3.3, 13.2). It verifies the sender, the
 * time, the integrity and the audience of a notification, and detects repeats. It needs WebCrypto with Ed25519, `fetch`
 * for remote keys, and no Node.js API.
 *
 * @throws TypeError that names every wrong option.
 */
export function createPushReceiver(options: PushReceiverOptions): PushReceiver {
  return pushReceiverWith(options);
}

/**
 * Creates a receiver that fetches the keys of servers by another function.
 *
 * @throws TypeError that names every wrong option.
 */
export function pushReceiverWith(options: PushReceiverOptions, keyFetch?: typeof fetch): PushReceiver {
  const faults = receiverFaults(options);
  if (faults.length > 0) throw new TypeError(`Invalid options: ${faults.join("; ")}`);
  const judge = new Judge(options, keyFetch);
  const { memory = pushMemory(), logger = silentLogger } = options;
  const handling = new Handling({
    verify: (request) => judge.verify(request),
    memory,
    logger: guardedLogger(logger),
  });
  return {
    receive: (request) => handling.receive(request),
    handled: (event) => handling.handled(event),
    fetch: (handle) => async (request) => {
      const { status, headers, text } = await handling.answer(async () => request, handle);
      return new Response(text === "" ? null : text, { status, headers: { ...headers } });
    },
    handler: (handle) => nodeHandler(handling, handle, judge.maxBodyBytes),
  };
}

/** The verified signatures of a notification, and the fields that they cover. */
interface Vouched {
  readonly signatures: readonly PushSignature[];
  readonly server?: string;
  readonly eventId?: string;
  readonly taskId?: string;
  readonly configId?: string;
  readonly generation?: number;
  readonly seconds?: number;
}

class Judge {
  readonly maxBodyBytes: number;
  readonly #maxBodyValues: number;
  readonly #options: PushReceiverOptions;
  readonly #toleranceMs: number;
  readonly #tokens: IsKnown | undefined;
  readonly #authorization: IsKnown | undefined;
  readonly #jwt: TokenVerifier | undefined;
  readonly #webhook: WebhookVerifier;

  constructor(options: PushReceiverOptions, keyFetch: typeof fetch | undefined) {
    const { servers, audience = "", secrets, publicKeys = [], tokens, authorization } = options;
    const limits = { ...defaultReceiverLimits, ...given(options.limits ?? {}) };
    const logger = guardedLogger(options.logger ?? silentLogger);
    this.#options = options;
    this.maxBodyBytes = limits.maxBodyBytes;
    this.#maxBodyValues = limits.maxBodyValues;
    this.#toleranceMs = options.toleranceMs ?? 300_000;
    this.#tokens = tokens && lookup(tokens);
    this.#authorization = authorization && lookup(authorization);
    const trusted = servers?.map((server) => {
      const { url, jwks = defaultJwks(url) } = typeof server === "string" ? { url: server } : server;
      return { url: plainUrl(url), jwks: jwks instanceof URL ? jwks.href : jwks };
    });
    const audiences = [audience].flat().map((each) => (each === "" ? "" : pushAudience(each)));
    this.#jwt = trusted && new TokenVerifier(trusted, audiences, { logger, fetch: keyFetch });
    this.#webhook = new WebhookVerifier({
      secrets: typeof secrets === "function" ? secrets : secrets && (() => secrets),
      publicKeys,
    });
  }

  /** @throws PushRefusal */
  async verify(given: PushRequest): Promise<VerifiedPush> {
    const request = await readRequest(given, this.maxBodyBytes);
    const token = request.header(NOTIFICATION_TOKEN) ?? request.header(OTHER_NOTIFICATION_TOKEN) ?? "";
    await this.#checkCredentials(request, token);
    const vouched = await this.#vouched(request, token);
    const body = await readBody(request.body, this.#maxBodyValues);
    if (vouched.taskId !== undefined && vouched.taskId !== body.taskId) {
      throw new PushRefusal("signature", "Parley-Signature is of another task.");
    }
    const { eventId, server } = vouched;
    const isTest = isTestOf(request, eventId);
    const { configId, generation } = await this.#placeOf(request, body.taskId, vouched, isTest);
    const restoration = await restorationOf(request, body.taskId, { eventId, configId, generation });
    const { expects } = this.#options;
    if (expects !== undefined && !(await expects({ ...body, configId, server, token }))) {
      throw new PushRefusal("task", "This receiver does not expect notifications for this task.");
    }
    const { signatures, seconds } = vouched;
    const sentAt = seconds === undefined ? undefined : new Date(seconds * 1_000);
    const event = { ...body, eventId, configId, generation, isTest, sentAt, signatures };
    if (eventId === undefined || isTest) return { event, mark: undefined };
    // Uses only fields of every form of a notification, so that a copy without one of its signatures is the same event.
    const mark = {
      id: eventId,
      line: generation === undefined ? undefined : JSON.stringify(generationLine(body.taskId, configId, restoration)),
      generation,
      keepUntil: (sentAt?.getTime() ?? Date.now()) + this.#toleranceMs,
    };
    return { event, mark };
  }

  /** The configuration and generation of an event, as far as a signature covers them. A test event has no generation. */
  async #placeOf(
    request: ReadRequest,
    taskId: string,
    vouched: Vouched,
    isTest: boolean,
  ): Promise<Pick<PushEvent, "configId" | "generation">> {
    if (isTest) return { configId: vouched.configId, generation: undefined };
    if (vouched.taskId === undefined) return verifiedPlace(request, taskId, vouched);
    return { configId: vouched.configId, generation: vouched.generation };
  }

  async #checkCredentials({ header }: ReadRequest, token: string): Promise<void> {
    if (this.#authorization !== undefined && !(await this.#authorization(header("authorization") ?? ""))) {
      throw new PushRefusal("authorization", "The Authorization is missing or wrong.");
    }
    if (this.#tokens !== undefined && !(await this.#tokens(token))) {
      throw new PushRefusal("token", `The ${NOTIFICATION_TOKEN} is missing or wrong.`);
    }
  }

  /**
   * Each configured form is mandatory and has to be valid: JWTs with `servers`, Standard Webhooks with `secrets` or
   * `publicKeys`. Otherwise an attacker could replay an old notification without the form that reveals it.
   */
  async #vouched(request: ReadRequest, token: string): Promise<Vouched> {
    const { header } = request;
    const jwt = header(PUSH_SIGNATURE);
    const claims = jwt === undefined ? undefined : await this.#jwt?.verify(jwt, request);
    const webhook = await this.#webhook.verify(request, token);
    const seconds = claims?.seconds ?? webhook?.seconds;
    if (seconds === undefined) {
      if (this.#options.acceptUnsigned === true) return { signatures: [] };
      throw new PushRefusal("unsigned", "The notification has no signature that can be verified here.");
    }
    if (this.#jwt !== undefined && claims === undefined) throw lacking(PUSH_SIGNATURE);
    if (this.#webhook.isConfigured && webhook === undefined) throw lacking(WEBHOOK_SIGNATURE);
    this.#checkTime(seconds);
    if (webhook !== undefined) this.#checkTime(webhook.seconds);
    const signatures: PushSignature[] = webhook === undefined ? [] : [{ kind: webhook.kind }];
    if (claims === undefined) return { signatures, seconds, ...(webhook && { eventId: webhook.id }) };
    const { issuer, id, taskId, configId, generation } = claims;
    // The headers must agree with the JWT.
    checkSame(header(WEBHOOK_ID), id);
    checkSame(header(WEBHOOK_TIMESTAMP), String(seconds));
    checkSame(header(PUSH_GENERATION), String(generation));
    checkSame(header(PUSH_CONFIG), encodeURIComponent(configId));
    signatures.unshift({ kind: "jwt", issuer });
    return { signatures, server: issuer, eventId: id, taskId, configId, generation, seconds };
  }

  #checkTime(seconds: number): void {
    const age = Date.now() - seconds * 1_000;
    if (Math.abs(age) <= this.#toleranceMs) return;
    const when = age > 0 ? "too old" : "of a time that has not come";
    throw new PushRefusal("stale", `The signature is ${when}.`);
  }
}

/**
 * True for a test event. A signature covers the id, so that only the sender can tell whether it is one.
 *
 * @throws PushRefusal if the header says something else than the signed id
 */
function isTestOf({ header }: ReadRequest, eventId: string | undefined): boolean {
  const isMarked = header(PUSH_TEST) === "true";
  if (eventId === undefined) return isMarked;
  const isTest = eventId.startsWith(PUSH_TEST_ID);
  if (isMarked && !isTest) throw new PushRefusal("signature", "The header Parley-Test is not that of this event.");
  return isTest;
}

function lacking(form: string): PushRefusal {
  return new PushRefusal("unsigned", `The notification lacks ${form}, which is required here.`);
}

function checkSame(given: string | undefined, signed: string): void {
  if (given === undefined || given === signed) return;
  throw new PushRefusal("signature", "A header says something else than Parley-Signature.");
}

/**
 * Returns configuration and generation of a notification without a JWT. A Standard Webhooks signature covers the
 * event's id, which is derived from both. Without such a signature they are unverified and not returned.
 *
 * @throws PushRefusal if the id does not match them
 */
async function verifiedPlace(
  { header }: ReadRequest,
  taskId: string,
  { eventId }: Vouched,
): Promise<{ configId: string | undefined; generation: number | undefined }> {
  const [config, count] = [header(PUSH_CONFIG), header(PUSH_GENERATION)];
  if (eventId === undefined || config === undefined || count === undefined) {
    return { configId: undefined, generation: undefined };
  }
  const configId = decodedName(config);
  const generation = Number(count);
  const id = await idOf(taskId, configId, generation, header(PUSH_RESTORATION) ?? "");
  if (!/^\d{1,15}$/.test(count) || eventId !== id) {
    throw new PushRefusal("signature", "The event's id is not that of its task, configuration and generation.");
  }
  return { configId, generation };
}

async function idOf(taskId: string, configId: string, generation: number, restoration: string): Promise<string> {
  return pushEventId(base64urlOf(await sha256(utf8Of(pushEventText(taskId, configId, generation, restoration)))));
}

/**
 * Returns the restoration that a notification names; empty for none. The event's id is derived from it.
 *
 * @throws PushRefusal if the id does not match it
 */
async function restorationOf(
  { header }: ReadRequest,
  taskId: string,
  { eventId, configId, generation }: Pick<PushEvent, "eventId" | "configId" | "generation">,
): Promise<string> {
  const restoration = header(PUSH_RESTORATION) ?? "";
  if (restoration === "" || configId === undefined || generation === undefined) return "";
  if (eventId === (await idOf(taskId, configId, generation, restoration))) return restoration;
  throw new PushRefusal("signature", "The event's id is not that of its restoration.");
}

/** Generations begin again after a restoration, at the one that was restored. */
function generationLine(taskId: string, configId: string | undefined, restoration: string): string[] {
  const line = [taskId, configId ?? ""];
  return restoration === "" ? line : [...line, restoration];
}

function decodedName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new PushRefusal("malformed", `The ${PUSH_CONFIG} cannot be decoded.`);
  }
}
