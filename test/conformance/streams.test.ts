import { messageCases } from "./cases/messages.js";
import { resumeCases } from "./cases/resume.js";
import { streamCases } from "./cases/stream.js";
import { subscribeCases } from "./cases/subscribe.js";
import { runTable } from "./run.js";

runTable([...streamCases, ...subscribeCases, ...messageCases, ...resumeCases]);
