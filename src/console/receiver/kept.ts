import { receiverLimits } from "./limits.js";

/** A notification as the list shows it. */
export interface NotificationSummary {
  /** Number of its arrival, from 1. */
  readonly number: number;
  /** Time of its arrival in ISO 8601. */
  readonly at: string;
  /** HTTP status of the answer to its sender. */
  readonly status: number;
  /** Reason of its refusal; undefined for one that is verified. */
  readonly refusal?: { readonly code: string; readonly reason: string; readonly detail?: string | undefined };
  /** Verified signatures: `v1`, `v1a`, or `jwt` with its issuer. Empty if its token alone was checked. */
  readonly signatures: readonly { readonly kind: string; readonly issuer?: string }[];
  /** Headers with signatures that were not checked, as no key for them is known. */
  readonly unchecked: readonly string[];
  readonly isTest: boolean;
  readonly isRepeat: boolean;
  /** Kind of the event, id of its task and state; as the body says, if it was refused. */
  readonly kind?: string | undefined;
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  readonly state?: number | undefined;
  readonly eventId?: string | undefined;
  readonly configId?: string | undefined;
  readonly generation?: number | undefined;
  readonly sentAt?: string | undefined;
  /** Size of the body in bytes. */
  readonly size: number;
}

/** A notification with all that arrived, without credentials. */
export interface KeptNotification extends NotificationSummary {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The latest notifications of a receiver, within its limits. */
export class Kept {
  readonly #all: KeptNotification[] = [];
  #bytes = 0;
  #last = 0;

  add(notification: Omit<KeptNotification, "number">): void {
    const kept = { number: ++this.#last, ...notification };
    this.#all.push(kept);
    this.#bytes += sizeOf(kept);
    while (this.#all.length > receiverLimits.notifications || this.#bytes > receiverLimits.bytes) {
      const oldest = this.#all.shift();
      if (oldest === undefined) return;
      this.#bytes -= sizeOf(oldest);
    }
  }

  get(number: number): KeptNotification | undefined {
    return this.#all.find((each) => each.number === number);
  }

  /** Summaries of those that arrived after one, oldest first. */
  after(number: number): NotificationSummary[] {
    return this.#all.filter((each) => each.number > number).map(({ headers: _, body: __, ...summary }) => summary);
  }

  /** Numbers of the oldest that is kept and of the last that arrived. Equal to `last + 1` if none is kept. */
  get range(): { readonly first: number; readonly last: number } {
    return { first: this.#all[0]?.number ?? this.#last + 1, last: this.#last };
  }

  clear(): void {
    this.#all.length = 0;
    this.#bytes = 0;
  }
}

function sizeOf({ body, ...rest }: KeptNotification): number {
  return body.length + JSON.stringify(rest).length;
}
