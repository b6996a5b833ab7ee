import type { Message } from "@bufbuild/protobuf";
import { mark, marksOf } from "../../wire/marks.js";
import { sharedCopy } from "../../wire/serialization-cache.js";
import { type MethodHandler, type MethodInvocation, mapAnswer } from "../method-handler.js";
import type { Dialects } from "../version.js";

type Translate = NonNullable<Dialects["translate"]>;

/** Marks an HTTP+JSON request, or its answer, as one in the schema's dialect. */
export function markSchema<M extends Message>(message: M): M {
  return mark(message, { dialect: "schema" });
}

export function isInSchema(message: Message): boolean {
  return marksOf(message)?.dialect === "schema";
}

/** Responds in the dialect of the request: HTTP+JSON of 0.3 has two, and clients of one may not read the other. */
export function inAskedDialect(translate: Translate): Translate {
  return (service, supported) => {
    const serve = translate(service, supported);
    return (asked) => (isInSchema(asked.request) ? markedAnswer(serve, asked) : serve(asked));
  };
}

async function markedAnswer(serve: MethodHandler, asked: MethodInvocation): Promise<Message | AsyncIterable<Message>> {
  const answer = await serve(asked);
  return mapAnswer(answer, marked);
}

/** Returns a marked copy, because other readers receive the same message in the other dialect. */
function marked(message: Message): Message {
  return markSchema(sharedCopy(message, {}));
}
