import { type Chat, type Json, membersOf, type Reply, type Rule, type ToolResult } from "../offline-model/rules.js";

/** The parts of a question that the offline model understands. */
interface Asked {
  readonly amount: number;
  readonly from: string | undefined;
  readonly to: readonly string[];
  readonly date: string;
}

/** Names of currencies other than their codes. */
const names: readonly (readonly [RegExp, string])[] = [
  [/\beuros?\b|€/i, "EUR"],
  [/\b(us )?dollars?\b|\$/i, "USD"],
  [/\bpounds?\b|£/i, "GBP"],
  [/\brupees?\b/i, "INR"],
  [/\byen\b|¥/i, "JPY"],
];

/** Words of three capitals that are not currencies. */
const words = /^(THE|AND|FOR|NOT|HOW|WHY|WHO|API|PDF)$/;

/** The rules of a model that converts currencies: they answer as a language model with this prompt and tool would. */
export const rules: readonly Rule[] = [structured, result, offTopic, lookUp];

/** The structured output at the end: what the conversation has come to. */
function structured({ schema, messages, results }: Chat): Reply | undefined {
  if (schema === undefined) return undefined;
  const message = messages.findLast(({ role }) => role === "assistant")?.text ?? "";
  const isError = results.some(({ output }) => errorOf(output) !== undefined);
  return { data: { status: isError ? "error" : /\?\s*$/.test(message) ? "input_required" : "completed", message } };
}

/** The answer once the tool has answered. */
function result({ results, texts }: Chat): Reply | undefined {
  if (results.length === 0) return undefined;
  const error = results.map(({ output }) => errorOf(output)).find((text) => text !== undefined);
  if (error !== undefined) return { text: error };
  const { amount } = understood(texts);
  const rates = results.map(rateOf);
  const [first] = rates;
  if (first === undefined) return undefined;
  if (amount === 1 && rates.length === 1) {
    return { text: `The exchange rate for 1 ${first.from} to ${first.to} is ${first.rate}.` };
  }
  const and = (parts: readonly string[]): string => parts.join(" and ");
  const equal = and(rates.map(({ to, rate }) => `${rate} ${to}`));
  const total = and(rates.map(({ to, rate }) => `${Number((amount * rate).toPrecision(5))} ${to}`));
  const based = `Based on the current exchange rate, 1 ${first.from} is equivalent to ${equal}.`;
  if (amount === 1) return { text: based };
  return { text: `${based} Therefore, ${amount} ${first.from} would be approximately ${total}.` };
}

function offTopic({ text, texts }: Chat): Reply | undefined {
  const isAbout = /currenc|exchange|convert|rate|worth|how much/i.test(text) || codesIn(text).length > 0;
  if (isAbout || (texts.length > 1 && understood(texts).from !== undefined && text.length < 30)) return undefined;
  return { text: "I can only help with currency conversion and exchange rates." };
}

/** Asks for a missing currency, or calls the tool once for each target. */
function lookUp({ texts }: Chat): Reply {
  const { from, to, date } = understood(texts);
  if (from === undefined) return { text: "Which currencies do you want to convert?" };
  if (to.length === 0) {
    return {
      text: "Which currency do you want to convert to? Also, do you want the latest exchange rate or a specific date?",
    };
  }
  const calls = to.map((one) => ({
    name: "get_exchange_rate",
    input: { currency_from: from, currency_to: one, currency_date: date },
  }));
  return { calls };
}

/** Reads the texts in order: an answer to a question, or "and in CAD?", completes what was said before. */
function understood(texts: readonly string[]): Asked {
  let asked: Asked = { amount: 1, from: undefined, to: [], date: "latest" };
  for (const text of texts) {
    const [first, ...others] = codesIn(text);
    const amount = amountIn(text) ?? asked.amount;
    const date = dateIn(text) ?? asked.date;
    // An amount stands before the currency to convert from.
    const isNew = others.length > 0 ? !/^(and|in|to)\b/i.test(text) : /\d\s*[A-Z]{3}\b/.test(text);
    if (first === undefined) asked = { ...asked, amount, date };
    else if (asked.from === undefined || isNew) asked = { amount, from: first, to: others, date };
    else asked = { ...asked, amount, to: [first, ...others], date };
  }
  return asked;
}

function codesIn(text: string): string[] {
  const named = names.reduce((all, [name, code]) => all.replace(name, ` ${code} `), text);
  const codes = named.match(/\b[A-Z]{3}\b/g) ?? [];
  return [...new Set(codes.filter((code) => !words.test(code)))];
}

const dateIn = (text: string): string | undefined => /\b\d{4}-\d{2}-\d{2}\b/.exec(text)?.[0];

function amountIn(text: string): number | undefined {
  const [number] = /(?<![\d-])\d[\d,]*(\.\d+)?(?![\d-])/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number.replaceAll(",", ""));
}

function errorOf(output: Json): string | undefined {
  const { error } = membersOf(output);
  return typeof error === "string" ? error : undefined;
}

function rateOf({ input, output }: ToolResult): { readonly from: string; readonly to: string; readonly rate: number } {
  const { currency_from: from, currency_to: to } = input as Record<string, string>;
  const { rates } = output as { readonly rates: Record<string, number> };
  return { from: from ?? "", to: to ?? "", rate: rates[to ?? ""] ?? Number.NaN };
}
