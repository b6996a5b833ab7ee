/** The messages of a request as calls of streams take them. What Connect has for this brings all of its streams into a page. */
export async function* requestMessages<M>(messages: readonly M[]): AsyncGenerator<M, void, undefined> {
  yield* messages;
}
