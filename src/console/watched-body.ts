import type { BodySource, BodyWriter } from "../http/response.js";

/** A body that tells when it was written or abandoned. */
export class WatchedBody implements BodySource {
  readonly #body: BodySource;
  readonly #ended: () => void;

  constructor(body: BodySource, ended: () => void) {
    this.#body = body;
    this.#ended = ended;
  }

  async writeTo(writer: BodyWriter): Promise<boolean> {
    try {
      return await this.#body.writeTo(writer);
    } finally {
      this.#ended();
    }
  }

  cancel(): void {
    this.#body.cancel();
    this.#ended();
  }
}
