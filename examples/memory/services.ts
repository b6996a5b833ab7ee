/** Stands for a model. */
export async function planFor(wish: string): Promise<{ stops: string[] }> {
  return { stops: wish.split(" and ") };
}

/** Stands for a service that must not be called twice. */
export async function book(stop: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  return `A room in ${stop}`;
}
