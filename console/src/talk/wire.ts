import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { mapStream } from "../../../src/core/map-stream.js";
import { resumeParameters } from "../../../src/wire/service-params.js";

/** One connection of a stream. */
export interface StreamConnection {
  /** Events that came over it so far. */
  readonly events: number;
  /** The generation after which it was to resume; undefined for one that sent a message or took the whole task. */
  readonly after: number | undefined;
}

interface Open extends StreamConnection {
  events: number;
  readonly cut: AbortController;
}

/** The streams of one conversation as connections, which can be cut on purpose: the client then resumes by itself. */
export class Wire {
  readonly #open = new Set<Open>();
  #last: StreamConnection | undefined;

  /** The connection that was opened last. */
  get last(): StreamConnection | undefined {
    return this.#last;
  }

  /** Aborts all open connections, as a failing network would. */
  cut(): void {
    for (const { cut } of this.#open) cut.abort();
  }

  readonly interceptor: Interceptor = (next) => async (request) => {
    if (!request.stream) return next(request);
    const cut = new AbortController();
    const after = request.header.get(resumeParameters.after);
    const connection: Open = { events: 0, after: after === null ? undefined : Number(after), cut };
    this.#open.add(connection);
    this.#last = connection;
    try {
      const answer = await next({ ...request, signal: AbortSignal.any([request.signal, cut.signal]) });
      if (!answer.stream) return answer;
      return { ...answer, message: this.#watched(answer.message, connection) };
    } catch (error) {
      this.#open.delete(connection);
      throw errorOf(error, connection);
    }
  };

  #watched<T>(messages: AsyncIterable<T>, connection: Open): AsyncIterable<T> {
    return mapStream(messages, {
      item: (message) => {
        connection.events += 1;
        return message;
      },
      failed: (error) => errorOf(error, connection),
      end: () => this.#open.delete(connection),
    });
  }
}

/** An abort of this page is to look like a lost connection, which the client resumes. */
function errorOf(error: unknown, { cut }: Open): unknown {
  return cut.signal.aborted ? new ConnectError("The connection was cut on purpose.", Code.Unavailable) : error;
}
