// Genkit ends its process at these signals, from the moment that it is loaded. Here the server ends the process, after
// it has given running turns time to end.
const signals = ["SIGINT", "SIGTERM"] as const;
const others: ReadonlySet<unknown> = new Set(signals.flatMap((signal) => process.listeners(signal)));

export const { genkit, z } = await import("genkit");
export const { openAICompatible } = await import("@genkit-ai/compat-oai");

for (const signal of signals) {
  for (const listener of process.listeners(signal)) if (!others.has(listener)) process.off(signal, listener);
}
