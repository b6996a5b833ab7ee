import type { DescMethod, Message } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, violationText } from "../../core/error.js";
import { messageIn } from "../../core/members.js";
import { jsonReader } from "../../wire/json-reader.js";
import type { Context, Run } from "./context.js";
import { usage } from "./errors.js";
import { jsonOf } from "./output.js";
import { jsonArgument } from "./parts.js";

/** `call`: calls any method of the protocol with a request in JSON, and prints the response, or each one of a stream. */
export const run: Run = async (context, [name = "", given = "{}"]) => {
  const method = methodNamed(name);
  const request = await requestOf(context, method, given);
  const { client } = await context.agent();
  const { out, signal } = context;
  const call = client[method.localName as keyof typeof client] as unknown as Call;
  if (method.methodKind === "unary") {
    out.message(method.output, (await call(request, { signal })) as Message);
    return;
  }
  context.startBudget();
  for await (const message of call(request, { signal }) as AsyncIterable<Message>) {
    context.touch();
    out.json(jsonOf(method.output, message), true);
  }
};

type Call = (request: Message, options: { readonly signal: AbortSignal }) => Promise<Message> | AsyncIterable<Message>;

function methodNamed(name: string): DescMethod {
  const found = A2AService.methods.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  const names = A2AService.methods.map((each) => each.name).join(", ");
  throw usage(`call: ${JSON.stringify(name.slice(0, 60))} is not a method of A2A`, `the methods are ${names}`);
}

async function requestOf(context: Context, method: DescMethod, given: string): Promise<Message> {
  const json = await jsonArgument(context, given, "the request");
  try {
    return jsonReader(method.input)(json);
  } catch (error) {
    const violations = error instanceof A2AError ? error.violations.map(violationText).join("; ") : "";
    throw usage(`the request is not a valid ${method.input.name}: ${violations || messageIn(error)}`);
  }
}
