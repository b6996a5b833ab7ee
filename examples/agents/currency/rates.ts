import { readFileSync } from "node:fs";

/** Rates of a day, as the Frankfurter API returns them. */
export interface Rates {
  readonly amount: number;
  readonly base: string;
  readonly date: string;
  readonly rates: Readonly<Record<string, number>>;
}

/** Units of each currency for one unit of the base, by day. Rates for examples, not for business. */
const known = JSON.parse(readFileSync(new URL("rates.json", import.meta.url), "utf8")) as {
  readonly base: string;
  readonly days: Readonly<Record<string, Readonly<Record<string, number>>>>;
};

/**
 * Returns the exchange rate of a day, `YYYY-MM-DD` or `latest`: from the Frankfurter API if `FRANKFURTER_URL` names one
 * (`https://api.frankfurter.dev/v1`), otherwise from the data set. A day without rates has those of the day before.
 *
 * @throws Error if the rate is not known; it says why
 */
export async function exchangeRate(from: string, to: string, date: string, signal?: AbortSignal): Promise<Rates> {
  const { FRANKFURTER_URL: url } = process.env;
  if (url === undefined) return shippedRate(from, to, date);
  const query = new URLSearchParams({ base: from, symbols: to });
  const response = await fetch(`${url}/${date}?${query}`, signal === undefined ? {} : { signal });
  if (!response.ok) throw new Error(`The exchange rate API answered with ${response.status}.`);
  const rates = (await response.json()) as Partial<Rates>;
  if (rates.rates?.[to] === undefined) throw new Error("The exchange rate API sent no rate.");
  return rates as Rates;
}

function shippedRate(from: string, to: string, date: string): Rates {
  const days = Object.keys(known.days).toSorted().toReversed();
  const day = days.find((one) => date === "latest" || one <= date);
  const rates = day === undefined ? undefined : known.days[day];
  if (day === undefined || rates === undefined) throw new Error(`There are no exchange rates of ${date}.`);
  const [base, target] = [rates[from], rates[to]];
  if (base === undefined) throw new Error(`There is no currency ${from}.`);
  if (target === undefined) throw new Error(`There is no currency ${to}.`);
  return { amount: 1, base: from, date: day, rates: { [to]: Number((target / base).toPrecision(5)) } };
}
