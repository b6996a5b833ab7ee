const listeners = new Set<() => void>();

/** The requests that the console's server refuses because this browser has no session. */
export const refusals = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  tell(): void {
    for (const listener of listeners) listener();
  },
};

/** Fetches from the console's server within the session, and tells when that has ended. */
export const ownFetch: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init);
  if (answer.status === 401) refusals.tell();
  return answer;
};
