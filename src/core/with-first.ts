/**
 * The whole stream again, of which the first item was taken. No generator: one that waits for its next item would hold `return()` back
 * until that has come.
 */
export function withFirst<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncIterable<T> {
  let head: IteratorResult<T> | undefined = first;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = head ?? (await rest.next());
        head = undefined;
        return result;
      },
      return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
    }),
  };
}
