import type { JsonObject } from "@bufbuild/protobuf";
import { absent, like, type Pattern } from "../../support/match.js";
import { type Case, call, say } from "../case.js";

const schema = {
  type: "object",
  properties: { amount: { type: "number" }, purpose: { type: "string" } },
  required: ["amount", "purpose"],
};

/** The form part of a question. */
function part(more: { readonly [name: string]: Pattern }): Pattern {
  return {
    mediaType: "application/vnd.parley.form+json",
    data: { type: "form", id: "form", form: schema, instructions: "What for?", ...more },
  };
}

function waits(text: string, form: Pattern): Pattern {
  return {
    status: { state: "TASK_STATE_INPUT_REQUIRED", message: { parts: [{ text: like(new RegExp(text)) }, form] } },
  };
}

function fill(data: JsonObject): JsonObject {
  return { message: { messageId: "{new}", taskId: "{taskId}", role: "ROLE_USER", parts: [{ data }] } };
}

const asked = call("SendMessage", say("form"), {
  message: { task: waits("^What for\\?$", part({ form_data: {}, violations: absent })) },
  save: { taskId: "task.id" },
});

const ends = (state: string, more: { readonly [name: string]: Pattern }) => ({
  message: { task: { status: { state, ...more } } },
});

/** Questions with a form. */
export const formCases: readonly Case[] = [
  {
    name: "a form is asked for by a JSON Schema, again with the violations, and its answer reaches the agent",
    ids: ["SRV-CTX-16", "SRV-GEN-04"],
    steps: [
      asked,
      call("SendMessage", fill({ amount: "much", purpose: "Lunch" }), {
        message: {
          task: waits(
            "^What for\\?\namount: must be number$",
            part({
              form_data: { amount: "much", purpose: "Lunch" },
              violations: [{ field: "amount", description: "must be number" }],
            }),
          ),
        },
      }),
      call("SendMessage", fill({ amount: "20.5", purpose: "Lunch" }), {
        message: {
          task: {
            status: { state: "TASK_STATE_COMPLETED" },
            artifacts: [{ parts: [{ data: { amount: 20.5, purpose: "Lunch" } }] }],
          },
        },
      }),
    ],
  },
  {
    name: "a form that the user declines ends its task",
    ids: ["SRV-GEN-04"],
    steps: [
      asked,
      call(
        "SendMessage",
        fill({ type: "form", declined: true }),
        ends("TASK_STATE_FAILED", { message: { parts: [{ text: "The form was declined." }] } }),
      ),
    ],
  },
];
