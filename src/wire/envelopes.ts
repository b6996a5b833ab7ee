import { Gathered } from "../core/bytes.js";
import { defined } from "../core/members.js";
import { PREFIX_BYTES } from "./binary-output.js";

/** One message of gRPC, gRPC-Web or Connect's streams. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

/** Flag of a compressed message. */
export const COMPRESSED = 1;

/** Splits the chunks of a body into envelopes. It buffers at most one incomplete envelope and the last chunk. */
export class Envelopes {
  readonly #check: (flags: number, size: number) => void;
  readonly #gathered = new Gathered();
  /** Size of the next envelope with its prefix, as far as known, in bytes. */
  #need = PREFIX_BYTES;

  /** @param check called with the prefix of each message, before the message is complete; throws to reject it */
  constructor(check: (flags: number, size: number) => void) {
    this.#check = check;
  }

  push(chunk: Uint8Array): void {
    this.#gathered.push(chunk);
  }

  /** True while an envelope is incomplete. */
  get isInside(): boolean {
    return this.#gathered.size > 0;
  }

  /** Returns the next complete envelope, if any. @throws the errors of the check; nothing may be read afterwards */
  take(): Envelope | undefined {
    if (this.#gathered.size < this.#need) return undefined;
    const { bytes } = this.#gathered;
    const flags = defined(bytes[0]);
    if (this.#need === PREFIX_BYTES) {
      const byte = (at: number): number => defined(bytes[at]);
      const size = ((byte(1) << 24) | (byte(2) << 16) | (byte(3) << 8) | byte(4)) >>> 0;
      this.#check(flags, size);
      this.#need += size;
      if (bytes.byteLength < this.#need) return undefined;
    }
    const data = bytes.subarray(PREFIX_BYTES, this.#need);
    this.#gathered.drop(this.#need);
    this.#need = PREFIX_BYTES;
    return { flags, data };
  }
}
