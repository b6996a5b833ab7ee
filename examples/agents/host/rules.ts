import { type Chat, membersOf, type Reply, type Rule, type ToolResult } from "../offline-model/rules.js";

/** Topics of requests, and how the descriptions of agents for them read. */
const topics: readonly { readonly asked: RegExp; readonly offered: RegExp }[] = [
  { asked: /reimburs|expense/i, offered: /reimburs|expense/i },
  { asked: /convert|exchange|\b(EUR|USD|GBP|JPY|INR|CAD)\b/i, offered: /currenc|exchange/i },
  { asked: /\b(draw|image|picture|logo)\b/i, offered: /\b(image|picture|draw)/i },
  { asked: /\b(movies?|films?|actors?)\b/i, offered: /movie|film/i },
  { asked: /\b(code|program|function|typescript|python)\b/i, offered: /\bcode|program/i },
];

/** The rules of a model that hands requests on: it divides them as a language model would. */
export const rules: readonly Rule[] = [reimburseInDollars, conclude, handOn, introduce];

/** "Reimburse my lunch for 20 EUR, I need it in USD first": converts before it asks for the money. */
function reimburseInDollars(chat: Chat): Reply | undefined {
  const { text, results } = chat;
  const [, amount, from] = /(\d[\d.,]*) ?(EUR|GBP|JPY|INR|CAD)\b/i.exec(text) ?? [];
  const to = /\bin (USD|EUR|GBP)\b/i.exec(text)?.[1];
  if (!/reimburs/i.test(text) || amount === undefined || from === undefined || to === undefined) return undefined;
  if (results.length === 0) return callTo(chat, /currenc|exchange/i, `How much is ${amount} ${from} in ${to}?`);
  const [converted] = results;
  if (results.length > 1 || converted === undefined || isFailed(converted)) return undefined;
  const total = new RegExp(`(\\d[\\d.,]*) ${to}\\b(?!.*\\d ${to}\\b)`, "s").exec(textOf(converted))?.[1];
  const money = total === undefined ? `${amount} ${from}` : `${Number(total.replaceAll(",", "")).toFixed(2)} ${to}`;
  const purpose = /reimburse ((?:my |the )?\w+)/i.exec(text)?.[1] ?? "expense";
  return callTo(chat, /reimburs|expense/i, `Reimburse ${money} for ${purpose}`);
}

/** Tells what the agents have answered. */
function conclude({ results }: Chat): Reply | undefined {
  if (results.length === 0) return undefined;
  return { text: results.map((result) => `${agentOf(result)}: ${textOf(result)}`).join("\n") };
}

/** Sends each part of the request to the agent for it. A request without a topic goes to the agent of the last one. */
function handOn(chat: Chat): Reply | undefined {
  const parts = chat.text.split(/,? and (?=\w+ )|;|(?<=[.?!]) /).filter((part) => part.trim() !== "");
  const calls = parts.flatMap((part) => callTo(chat, offeredFor(part), part.trim())?.calls ?? []);
  if (calls.length > 0) return { calls };
  const before = chat.texts.slice(0, -1).findLast((text) => offeredFor(text) !== undefined);
  return before === undefined ? undefined : callTo(chat, offeredFor(before), chat.text);
}

function introduce({ system }: Chat): Reply {
  const names = listed(system).map(({ name }) => name);
  return { text: `I can ask these agents: ${names.length === 0 ? "none so far" : names.join(", ")}.` };
}

const offeredFor = (text: string): RegExp | undefined => topics.find(({ asked }) => asked.test(text))?.offered;

function callTo({ system }: Chat, offered: RegExp | undefined, message: string): Reply | undefined {
  const agent = offered && listed(system).find(({ name, about }) => offered.test(`${name} ${about}`))?.name;
  return agent === undefined ? undefined : { calls: [{ name: "send_message", input: { agent, message } }] };
}

/** The agents in the system prompt. */
function listed(system: string): { readonly name: string; readonly about: string }[] {
  return [...system.matchAll(/^- (.+?): (.*)$/gm)].map(([, name = "", about = ""]) => ({ name, about }));
}

const agentOf = ({ input }: ToolResult): string => String(membersOf(input).agent ?? "");

const isFailed = ({ output }: ToolResult): boolean => membersOf(output).state !== "COMPLETED";

function textOf({ output }: ToolResult): string {
  if (typeof output === "string") return output;
  const { text, files } = membersOf(output);
  if (typeof text === "string" && text !== "") return text;
  const names = Array.isArray(files) ? files.map((file) => String(membersOf(file).name ?? "a file")) : [];
  return names.length === 0 ? "done" : names.join(", ");
}
