import type { Chat, Json, Reply, Rule } from "../offline-model/rules.js";

/** The offline model calls the tool whose name the user says, with the numbers and words that follow. */
export const rules: readonly Rule[] = [call];

function call(chat: Chat): Reply {
  const text = saidFor(chat);
  const tool = chat.tools.find((name) => wordsOf(name).every((word) => text.toLowerCase().includes(word)));
  if (tool === undefined) return { text: `Which tool shall I call: ${chat.tools.join(", ")}?` };
  const schema = chat.parameters[tool] as { properties?: Record<string, { type?: string }>; required?: string[] };
  const values = valuesIn(text, wordsOf(tool));
  const input: Record<string, Json> = {};
  for (const [name, { type }] of Object.entries(schema.properties ?? {})) {
    const value =
      type === "number" || type === "integer"
        ? values.numbers.shift()
        : type === "string"
          ? values.words.shift()
          : undefined;
    if (value !== undefined) input[name] = value;
  }
  const missing = schema.required?.filter((name) => !(name in input)) ?? [];
  if (missing.length > 0) return { text: `Please give me ${missing.join(" and ")} for ${tool}?` };
  return { calls: [{ name: tool, input }] };
}

/** Returns the texts of the user since the last answer that was not a question. */
function saidFor({ messages }: Chat): string {
  const last = messages.findLastIndex(({ role, text }) => role === "assistant" && !text.trimEnd().endsWith("?"));
  return messages
    .slice(last + 1)
    .flatMap(({ role, text }) => (role === "user" ? text : []))
    .join(" ");
}

const wordsOf = (name: string): string[] => name.toLowerCase().split(/[^a-z0-9]+/);

/** The numbers of a text, and its quoted words, or else what follows the name of the tool. */
function valuesIn(text: string, name: readonly string[]): { numbers: number[]; words: string[] } {
  const numbers = (text.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
  const quoted = [...text.matchAll(/"([^"]*)"/g)].map(([, inside = ""]) => inside);
  const last = name.at(-1) ?? "";
  const rest = text.slice(text.toLowerCase().indexOf(last) + last.length).trim();
  return { numbers, words: quoted.length > 0 || rest === "" ? quoted : [rest] };
}
