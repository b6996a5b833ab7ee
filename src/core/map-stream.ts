// Streams over other streams. None is a generator: one that waits for its next item delays `return()` until that item
// has come, so that a client that leaves would be noticed late. None waits in an async function either, because each of
// those holds half a kilobyte while nothing happens.

/** The steps of a mapped stream. */
export interface StreamSteps<T, U> {
  /** Converts an item. If it throws, the source is closed and the stream fails. */
  item(item: T): U;
  /** Called after the last item. If it throws, the stream fails. */
  done?(): void;
  /** Returns the error that a failed stream throws. */
  failed?(error: unknown): unknown;
  /** Called once, at the end for any reason: after `done` or `failed`, or when the reader stops early. */
  end?(): void;
}

/** Returns a stream with the converted items of another one. */
export function mapStream<T, U = T>(source: AsyncIterable<T>, steps: StreamSteps<T, U>): AsyncIterableIterator<U> {
  return new MappedStream(source[Symbol.asyncIterator](), steps);
}

class MappedStream<T, U> implements AsyncIterableIterator<U> {
  readonly #source: AsyncIterator<T>;
  readonly #steps: StreamSteps<T, U>;
  #isOpen = true;

  constructor(source: AsyncIterator<T>, steps: StreamSteps<T, U>) {
    this.#source = source;
    this.#steps = steps;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<U>> {
    try {
      return Promise.resolve(this.#source.next()).then(this.#passed, this.#failed);
    } catch (error) {
      return new Promise(() => this.#failed(error));
    }
  }

  return(): Promise<IteratorResult<U>> {
    this.#end();
    return close(this.#source);
  }

  readonly #passed = (result: IteratorResult<T>): IteratorResult<U> => {
    // The reader left while the source produced this item.
    if (!this.#isOpen) return { done: true, value: undefined };
    try {
      if (result.done !== true) return { done: false, value: this.#steps.item(result.value) };
      this.#steps.done?.();
    } catch (error) {
      // The stream has failed already, so an error of closing its source has no reader.
      close(this.#source).catch(() => {});
      this.#failed(error);
    }
    this.#end();
    return { done: true, value: undefined };
  };

  readonly #failed = (error: unknown): never => {
    const failure = this.#steps.failed?.(error) ?? error;
    this.#end();
    throw failure;
  };

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#steps.end?.();
  }
}

/** Returns a stream whose first result was already read. */
export function prepend<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncIterableIterator<T> {
  let head: IteratorResult<T> | undefined = first;
  return streamOf(
    () => {
      const result = head;
      head = undefined;
      return result === undefined ? rest.next() : Promise.resolve(result);
    },
    () => close(rest),
  );
}

/** Returns a stream whose beginning determines the rest: `begin` reads from the source and returns all items. */
export function begunStream<T>(
  source: AsyncIterable<T>,
  begin: (source: AsyncIterator<T>) => Promise<AsyncIterable<T>>,
): AsyncIterableIterator<T> {
  const inner = source[Symbol.asyncIterator]();
  let all: AsyncIterator<T> | undefined;
  let isLeft = false;
  const first = async (): Promise<IteratorResult<T>> => {
    all = (await begin(inner))[Symbol.asyncIterator]();
    // `begin` may have opened another stream after the reader stopped.
    return isLeft ? close(all) : all.next();
  };
  return streamOf(
    () => (all === undefined ? first() : all.next()),
    () => {
      isLeft = true;
      return close(all ?? inner);
    },
  );
}

function streamOf<T>(
  next: () => Promise<IteratorResult<T>>,
  end: () => Promise<IteratorResult<T>>,
): AsyncIterableIterator<T> {
  const stream = { next, return: end, [Symbol.asyncIterator]: () => stream };
  return stream;
}

async function close(source: AsyncIterator<unknown>): Promise<IteratorReturnResult<undefined>> {
  await source.return?.();
  return { done: true, value: undefined };
}
