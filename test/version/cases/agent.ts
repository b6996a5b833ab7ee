import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../../src/agent/agent.js";
import {
  type AgentEvent,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  type PartInput,
  rejected,
  reply,
  working,
} from "../../../src/agent/event.js";

type Behaviour = (rest: string, turn: Turn) => AsyncIterable<AgentEvent> | Iterable<AgentEvent>;

const flightQuestion =
  "Sure, I can help with that! Where would you like to fly to, and from where? Also, what are your preferred travel dates?";

const itinerary: JsonObject = {
  confirmationId: "XYZ123",
  from: "JFK",
  to: "LHR",
  departure: "2024-10-10T18:00:00Z",
  arrival: "2024-10-11T06:00:00Z",
  returnDeparture: "...",
};

const tickets =
  '[{"ticketNumber":"REQ12312","description":"request for VPN access"},{"ticketNumber":"REQ23422","description":"Add to DL - team-gcp-onboarding"}]';

const image: PartInput = {
  url: "https://storage.example.com/processed/task-bbb/output.png?token=xyz",
  filename: "output.png",
  mediaType: "image/png",
};

function* joke(text: string): Iterable<AgentEvent> {
  yield artifact({ name: "joke", text });
  yield completed();
}

/** Behaviours by the beginning of a new message; the first that fits is used. */
const behaviours: readonly (readonly [beginning: string, Behaviour])[] = [
  [
    "direct: ",
    function* (rest) {
      yield reply(rest);
    },
  ],
  ["tell me a joke", () => joke("Why did the chicken cross the road? To get to the other side!")],
  ["告诉我一个笑话", () => joke("为什么鸡要过马路?因为想到另一边去!")],
  [
    "I'd like to book a flight.",
    function* () {
      yield inputRequired(flightQuestion);
    },
  ],
  [
    "buy me a new phone",
    function* () {
      yield inputRequired("Select phone type (iPhone/Android)");
    },
  ],
  [
    "Analyze this image and highlight any faces.",
    function* () {
      yield artifact({ name: "processed_image_with_faces.png", parts: [image] });
      yield completed();
    },
  ],
  [
    "Show me a list of my open IT tickets",
    function* () {
      yield artifact({ text: tickets });
      yield completed();
    },
  ],
  [
    "write a long paper describing the attached pictures",
    function* () {
      yield working();
      for (const i of [1, 2, 3]) {
        yield artifact({ id: "paper", text: `<section ${i}...>`, append: i > 1, lastChunk: i === 3 });
      }
      yield completed();
    },
  ],
  ["Generate the Q1 sales report.", slow],
  ["slow: ", slow],
  [
    "hold: ",
    async function* (_rest, { signal }) {
      yield working();
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      yield canceled();
    },
  ],
  [
    "array: ",
    function* (rest) {
      yield artifact({ data: rest.split(",").map(Number).filter(Number.isFinite) });
      yield completed();
    },
  ],
  [
    "fail: ",
    function* (rest) {
      yield failed(rest);
    },
  ],
  [
    "reject: ",
    function* (rest) {
      yield rejected(rest);
    },
  ],
  [
    "auth: ",
    function* (rest) {
      yield authRequired(rest);
    },
  ],
];

async function* slow(_rest: string, { signal, message }: Turn): AsyncIterable<AgentEvent> {
  yield working();
  await sleep(1_000, undefined, { signal }).catch(() => {});
  yield* echo(message.parts);
}

function* echo(parts: readonly Part[]): Iterable<AgentEvent> {
  yield artifact({ name: "echo", parts: parts.map(inputOf) });
  yield completed();
}

/** Behaviour after the answer to a question. */
function* answered(question: string, parts: readonly Part[]): Iterable<AgentEvent> {
  if (question === flightQuestion) {
    yield artifact({ name: "FlightItinerary.json", data: itinerary });
    yield completed("Okay, I've found a flight for you. Confirmation XYZ123. Details are in the artifact.");
    return;
  }
  if (question.startsWith("Select phone type")) {
    const text = "I have ordered a new Android device for you. Your request number is R12443";
    yield artifact({ name: "order-confirmation", text });
    yield completed();
    return;
  }
  yield* echo(parts);
}

const firstText = (parts: readonly Part[]): string => {
  const found = parts.find(({ content }) => content.case === "text")?.content.value;
  return typeof found === "string" ? found : "";
};

/** The same piece of content as an agent writes it. */
function inputOf({ content, metadata, mediaType, filename }: Part): PartInput {
  const around = {
    ...(metadata !== undefined && { metadata }),
    ...(mediaType !== "" && { mediaType }),
    ...(filename !== "" && { filename }),
  };
  switch (content.case) {
    case "raw":
      return { ...around, raw: content.value };
    case "url":
      return { ...around, url: content.value };
    case "data":
      return { ...around, data: toJson(ValueSchema, content.value) };
    default:
      return { ...around, text: content.value ?? "" };
  }
}

/** Does what the cases count on: answers by what the first text part begins with, and echoes everything else. */
export const execute: Agent["execute"] = async function* (turn: Turn) {
  const question = turn.task?.status?.message;
  if (question !== undefined) return yield* answered(firstText(question.parts), turn.message.parts);
  const said = firstText(turn.message.parts);
  const found = behaviours.find(([beginning]) => said.startsWith(beginning));
  if (found === undefined) return yield* echo(turn.message.parts);
  yield* found[1](said.slice(found[0].length), turn);
};
