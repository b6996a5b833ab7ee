import type { ReactNode } from "react";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { Code } from "../content/code.js";
import { pretty } from "../exchanges/bytes.js";
import { agentWords } from "../texts/agents.js";
import { css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { Outward } from "./outward.js";

const write = jsonWriter(AgentCardSchema);

/** The card as the server sent it. */
export default function JsonTab({ card: { found } }: { readonly card: ReceivedCard }): ReactNode {
  return (
    <div className={css.section}>
      {found.url !== undefined && (
        <p className={ui.soft}>
          {agentWords.card.asReceived} <Outward href={found.url} />
        </p>
      )}
      <Code code={pretty(found.text ?? write(found.card))} language="json" />
    </div>
  );
}
