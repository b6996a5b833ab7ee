import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, type Runtime, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { type Agent, artifact, completed, inputRequired, type Turn, working } from "parley-a2a";
import { z } from "zod";
import { modelFor } from "../offline-model/model.js";
import { exchangeRate } from "./rates.js";
import { rules } from "./rules.js";

const instructions =
  "You are a specialized assistant for currency conversions. " +
  "Your sole purpose is to use the 'get_exchange_rate' tool to answer questions about currency exchange rates. " +
  "If the user asks about anything other than currency conversion or exchange rates, " +
  "politely state that you cannot help with that topic and can only assist with currency-related queries. " +
  "Set the status to input_required if the user needs to provide more information, " +
  "to error if there is an error while processing the request, and to completed if the request is complete.";

const ResponseFormat = z.object({ status: z.enum(["input_required", "completed", "error"]), message: z.string() });

const getExchangeRate = tool(
  async ({ currency_from, currency_to, currency_date }, { signal }) => {
    try {
      return JSON.stringify(await exchangeRate(currency_from, currency_to, currency_date, signal));
    } catch (error) {
      signal?.throwIfAborted();
      return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
    }
  },
  {
    name: "get_exchange_rate",
    description: "Returns the exchange rate of two currencies.",
    schema: z.object({
      currency_from: z.string().describe('The currency to convert from, such as "USD".'),
      currency_to: z.string().describe('The currency to convert to, such as "EUR".'),
      currency_date: z.string().default("latest").describe('The date of the rate, YYYY-MM-DD, or "latest".'),
    }),
  },
);

const { baseURL, apiKey, model } = await modelFor(rules);
const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, temperature: 0 });
const chatWithTools = chat.bindTools([getExchangeRate]);
const chatWithFormat = chat.withStructuredOutput(ResponseFormat, { name: "ResponseFormat", method: "jsonSchema" });

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  response: Annotation<z.infer<typeof ResponseFormat> | undefined>,
});
const Context = Annotation.Root({ turn: Annotation<Turn> });

/** The turn of A2A that the graph runs for. */
function turnOf({ context }: Runtime<typeof Context.State>): Turn {
  if (context === undefined) throw new Error("The graph runs for a turn.");
  return context.turn;
}

/** Asks the model. The answer is stored before it is used: a turn that runs again after a crash does not ask again. */
async function callModel({ messages }: typeof State.State, runtime: Runtime<typeof Context.State>) {
  const answer = await turnOf(runtime).step("model", async (signal) => {
    const { text, tool_calls = [] } = await chatWithTools.invoke([new SystemMessage(instructions), ...messages], {
      signal,
    });
    return { content: text, tool_calls: tool_calls.map(({ id = "", name, args }) => ({ id, name, args })) };
  });
  return { messages: [new AIMessage(answer)] };
}

/** Runs the tools that the model has called, at the same time. */
async function callTools({ messages }: typeof State.State, runtime: Runtime<typeof Context.State>) {
  const turn = turnOf(runtime);
  const { tool_calls = [] } = messages.at(-1) as AIMessage;
  const results = await turn.step("tools", async (signal) => {
    await turn.emit(working("Looking up the exchange rates..."));
    const rates = await Promise.all(tool_calls.map(({ args }) => getExchangeRate.invoke(args as never, { signal })));
    await turn.emit(working("Processing the exchange rates.."));
    return rates;
  });
  const answers = tool_calls.map(({ id = "", name }, index) => ({
    name,
    tool_call_id: id,
    content: results[index] ?? "",
  }));
  return { messages: answers.map((answer) => new ToolMessage(answer)) };
}

/** Asks for the structured answer, whose status decides the state of the task. */
async function respond({ messages }: typeof State.State, runtime: Runtime<typeof Context.State>) {
  const response = await turnOf(runtime).step("model: response", (signal) =>
    chatWithFormat.invoke([new SystemMessage(instructions), ...messages], { signal }),
  );
  return { response };
}

const graph = new StateGraph(State, Context)
  .addNode("model", callModel)
  .addNode("tools", callTools)
  .addNode("respond", respond)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) =>
    (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "respond",
  )
  .addEdge("tools", "model")
  .addEdge("respond", END)
  .compile();

/** Converts currencies. The conversation is its memory: of this task and of those before it in the same context. */
export const agent: Agent = {
  card: {
    name: "Currency Agent",
    description: "Helps with exchange rates for currencies.",
    version: "1.0.0",
    skills: [
      {
        id: "convert_currency",
        name: "Currency Exchange Rates Tool",
        description: "Helps with exchange values between various currencies.",
        tags: ["currency conversion", "currency exchange"],
        examples: ["What is exchange rate between USD and GBP?"],
      },
    ],
  },
  recover: "restart",
  checkOutputModes: true,
  async *execute(turn) {
    const talk = await turn.conversation.messages();
    const messages = talk.map(({ role, text }) => (role === "user" ? new HumanMessage(text) : new AIMessage(text)));
    const { response } = await graph.invoke({ messages }, { context: { turn }, signal: turn.signal });
    if (response?.status !== "completed") {
      yield inputRequired(
        response?.message ?? "We are unable to process your request at the moment. Please try again.",
      );
      return;
    }
    yield artifact({ name: "conversion", text: response.message, lastChunk: true });
    yield completed();
  },
};
