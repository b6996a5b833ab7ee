import { clone } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { formIdOf, namedForm } from "../agent/form-part.js";
import { membersOf } from "../core/members.js";
import { dataOf } from "../task/plain.js";
import { DELEGATION_EXTENSION } from "../wire/service-params.js";

/**
 * Returns an answer that names the form which its client saw: the sub-task's last one before the message. The sub-task
 * may ask for another form before the answer arrives there, and would take it for the answer to that one.
 */
export function namingForm(answer: Message, task: Task | undefined, subTask: string): Message {
  const history = task?.history ?? [];
  const at = history.findIndex(({ messageId }) => messageId === answer.messageId);
  const form = formIdOf(dataOf(history.slice(0, Math.max(at, 0)).findLast((message) => isForm(message, subTask))));
  if (form === undefined || namedForm(answer) !== undefined) return answer;
  const named = clone(MessageSchema, answer);
  const part = named.parts.find(({ content }) => content.case === "data");
  if (part !== undefined) part.metadata = { ...part.metadata, form };
  return named;
}

function isForm(message: Message, subTask: string): boolean {
  const { taskId } = membersOf(message.metadata?.[DELEGATION_EXTENSION]);
  return message.role === Role.AGENT && taskId === subTask && formIdOf(dataOf(message)) !== undefined;
}
