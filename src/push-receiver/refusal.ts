/** Reasons for rejecting a notification, with their HTTP status. The sender retries after all but `gone`. */
const statuses = {
  /** The method is not POST. */
  method: 405,
  /** Its body is neither `application/a2a+json` nor `application/json`, or it is encoded. */
  "content-type": 415,
  /** Its body is larger than `maxBodyBytes`, or has more values than `maxBodyValues`. */
  "too-large": 413,
  /** Not a notification: its body is not a `StreamResponse`, or a header is repeated. */
  malformed: 400,
  /** Its `Authorization` is missing or wrong. */
  authorization: 401,
  /** Its `X-A2A-Notification-Token` is missing or wrong. */
  token: 403,
  /** It has no signature of a configured kind. */
  unsigned: 403,
  /** Its signature is wrong, or does not match its headers or its body. */
  signature: 403,
  /** Its signature is too old, or its time is in the future. */
  stale: 403,
  /** It is signed by a server that is not trusted. */
  issuer: 403,
  /** It is for another webhook. */
  audience: 403,
  /** Its task is not expected. */
  task: 403,
  /** The same notification is being handled. */
  busy: 503,
  /** The keys of its server cannot be fetched. */
  unavailable: 503,
  /** The receiver does not want it any more, so the sender gives up at once. */
  gone: 410,
} as const;

/** Reason for rejecting a notification. */
export type PushRefusalCode = keyof typeof statuses;

/** A rejected notification. The message goes to the sender: it contains neither secrets nor expected values. */
export class PushRefusal extends Error {
  override name = "PushRefusal";
  readonly code: PushRefusalCode;
  /** HTTP status for the sender. */
  readonly status: number;

  constructor(code: PushRefusalCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = statuses[code];
  }
}
