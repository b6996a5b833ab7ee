import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The token that begins the next session. Each token works once, and its use creates the next one. */
export class LinkToken {
  #current: string = newToken();
  readonly #onNext: (token: string) => void;

  /** @param onNext receives each token after the first */
  constructor(onNext: (token: string) => void) {
    this.#onNext = onNext;
  }

  get current(): string {
    return this.#current;
  }

  /** Uses the token up if it is this one. */
  take(token: string): boolean {
    if (!timingSafeEqual(digest(token), digest(this.#current))) return false;
    this.#current = newToken();
    this.#onNext(this.#current);
    return true;
  }
}

function newToken(): string {
  return randomBytes(24).toString("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
