import { describe, expect, it } from "vitest";
import { begunStream, mapStream, prepend } from "../../src/core/map-stream.js";

/** A stream of numbers that never ends. Counts how often its reader closed it. */
class Source implements AsyncIterableIterator<number> {
  readonly #items: number[];
  closed = 0;

  constructor(...items: number[]) {
    this.#items = items;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<number>> {
    const value = this.#items.shift();
    return value === undefined ? new Promise(() => {}) : Promise.resolve({ value });
  }

  async return(): Promise<IteratorResult<number>> {
    this.closed++;
    return { done: true, value: undefined };
  }
}

async function* numbers(count: number, error?: Error): AsyncGenerator<number> {
  for (let i = 1; i <= count; i++) yield i;
  if (error !== undefined) throw error;
}

async function read(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = [];
  try {
    for await (const each of stream) seen.push(each);
  } catch (error) {
    seen.push((error as Error).message);
  }
  return seen;
}

/** Steps that record their calls. */
function noting(calls: string[], done?: () => void) {
  return {
    item: (item: number) => item * 10,
    done: () => {
      calls.push("done");
      done?.();
    },
    failed: (error: unknown) => {
      calls.push("failed");
      return new Error(`told: ${(error as Error).message}`);
    },
    end: () => void calls.push("end"),
  };
}

describe("mapStream()", () => {
  it("converts every item, and ends once", async () => {
    const calls: string[] = [];
    expect(await read(mapStream(numbers(2), noting(calls)))).toEqual([10, 20]);
    expect(calls).toEqual(["done", "end"]);
  });

  it("converts an error of the source, and one at its end", async () => {
    const calls: string[] = [];
    expect(await read(mapStream(numbers(1, new Error("broken")), noting(calls)))).toEqual([10, "told: broken"]);
    const late = noting(calls, () => {
      throw new Error("late");
    });
    expect(await read(mapStream(numbers(0), late))).toEqual(["told: late"]);
    expect(calls).toEqual(["failed", "end", "done", "failed", "end"]);
  });

  it("converts an error that next() throws at once", async () => {
    const broken = { next: () => JSON.parse("{"), [Symbol.asyncIterator]: () => broken };
    const steps = { item: (item: unknown) => item, failed: () => new Error("told") };
    await expect(mapStream(broken, steps).next()).rejects.toThrow("told");
  });

  it("closes its source when an item cannot be converted", async () => {
    const source = new Source(1);
    const fail = (): never => {
      throw new Error("unreadable");
    };
    await expect(mapStream(source, { item: fail }).next()).rejects.toThrow("unreadable");
    expect(source.closed).toBe(1);
  });

  it("is left at once, while it waits for an item", async () => {
    const source = new Source();
    const calls: string[] = [];
    const stream = mapStream(source, noting(calls));
    void stream.next();
    expect(await stream.return?.()).toEqual({ done: true, value: undefined });
    await stream.return?.();
    expect([source.closed, calls]).toEqual([2, ["end"]]);
  });

  it("converts no item that comes after it was left", async () => {
    const calls: string[] = [];
    const item = (each: number): number => calls.push(`item ${each}`);
    const stream = mapStream(numbers(2), { ...noting(calls), item });
    const pending = stream.next();
    void stream.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(calls).toEqual(["end"]);
  });
});

describe("prepend()", () => {
  it("returns the first result again, and is left at once", async () => {
    const rest = numbers(3);
    expect(await read(prepend(await rest.next(), rest))).toEqual([1, 2, 3]);
    const source = new Source(1);
    const stream = prepend(await source.next(), source);
    await stream.next();
    void stream.next();
    await stream.return?.();
    expect(source.closed).toBe(1);
  });
});

describe("begunStream()", () => {
  it("continues with what its beginning chooses", async () => {
    const stream = begunStream(numbers(2, new Error("unused")), async (source) => {
      await source.next();
      return mapStream({ [Symbol.asyncIterator]: () => numbers(2) }, { item: (item) => -item });
    });
    expect(await read(stream)).toEqual([-1, -2]);
  });

  it("is left at once, before and after its beginning", async () => {
    const source = new Source(1);
    const same = async (inner: AsyncIterator<number>) => prepend(await inner.next(), inner);
    const stream = begunStream(source, same);
    expect(await stream.next()).toMatchObject({ value: 1 });
    void stream.next();
    await stream.return?.();
    const unread = new Source();
    await begunStream(unread, same).return?.();
    expect([source.closed, unread.closed]).toEqual([1, 1]);
  });

  it("closes a stream that its beginning opens after the reader has left", async () => {
    const opened = new Source(1);
    let open = (_: Source): void => {};
    const stream = begunStream(new Source(), () => new Promise<Source>((resolve) => (open = resolve)));
    const pending = stream.next();
    await stream.return?.();
    open(opened);
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(opened.closed).toBe(1);
  });
});
