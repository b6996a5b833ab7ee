import type { Chat, Reply, Rule } from "../offline-model/rules.js";

/** The rules of a model that draws charts: they answer as a language model with this prompt and these tools would. */
export const rules: readonly Rule[] = [drawn, lookUp, draw, ask];

/** The answer once the chart is drawn. */
function drawn({ results }: Chat): Reply | undefined {
  const chart = results.find(({ name }) => name === "draw");
  return chart === undefined ? undefined : { text: `Here is the chart of ${numbersIn(chart.input).join(", ")}.` };
}

/** Looks up the sales of the years that the user names. */
function lookUp({ text, results }: Chat): Reply | undefined {
  const years = text.match(/\b20\d\d\b/g) ?? [];
  if (years.length === 0 || results.length > 0) return undefined;
  return {
    text: "I look up the sales.",
    calls: years.map((year) => ({ name: "sales", input: { year: Number(year) } })),
  };
}

/** Draws the sales, or the numbers of the user's message or answer. */
function draw({ text, results }: Chat): Reply | undefined {
  const found = results.flatMap(({ output }) => numbersIn(output));
  const numbers = found.length > 0 ? found : numbersIn(text);
  return numbers.length === 0 ? undefined : { calls: [{ name: "draw", input: { name: "chart", numbers } }] };
}

function ask(): Reply {
  return { text: "The numbers are missing.", calls: [{ name: "ask", input: { question: "Which numbers?" } }] };
}

const numbersIn = (value: unknown): number[] => (JSON.stringify(value).match(/\b\d+\b/g) ?? []).map(Number);
