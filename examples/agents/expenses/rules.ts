import type { Rule } from "../offline-model/rules.js";

/** The rules of a model that extracts the details of an expense from what the user said. */
export const rules: readonly Rule[] = [
  ({ schema, texts: all }) => {
    if (schema === undefined) return undefined;
    const texts = all.slice(all.findLastIndex((text) => /reimburse/i.test(text)));
    const last = (find: (text: string) => string | undefined): string | null =>
      texts.map(find).findLast((found) => found !== undefined) ?? null;
    const amount = last((text) => /(?<![\d-])\d+([.,]\d{1,2})?(?![\d-])/.exec(text)?.[0].replace(",", "."));
    return {
      data: {
        date: last((text) => /\b\d{4}-\d{2}-\d{2}\b/.exec(text)?.[0]),
        amount: amount === null ? null : Number(amount),
        currency: last(currencyIn),
        purpose: last(purposeIn),
      },
    };
  },
];

function currencyIn(text: string): string | undefined {
  if (text.includes("$")) return "USD";
  if (/€|\beuros?\b/i.test(text)) return "EUR";
  if (text.includes("£")) return "GBP";
  return /\b(USD|EUR|GBP|INR|JPY|CHF|CAD|AUD)\b/.exec(text)?.[0];
}

/** Words such as "my lunch with the clients", up to an amount, a date or the end of the sentence. */
function purposeIn(text: string): string | undefined {
  return /\b(?:my|our|the) ([a-z]+(?: (?!for\b|of\b|on\b|it\b)[a-z]+)*)/i.exec(text)?.[1];
}
