import { Link } from "@tanstack/react-router";
import { MessageSquare } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { AgentSkill } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { agentWords } from "../texts/agents.js";
import { Badge, Button, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";

/** Skills that are listed at first, and with each click as many more. */
const LISTED = 24;

interface SkillsProps {
  readonly agent: string;
  readonly skills: readonly AgentSkill[];
}

/** The skills of an agent. Their examples begin conversations. */
export function Skills({ agent, skills }: SkillsProps): ReactNode {
  const [limit, setLimit] = useState(LISTED);
  const { card: texts } = agentWords;
  if (skills.length === 0) return <p className={ui.soft}>{texts.noSkills}</p>;
  return (
    <>
      <ul className={css.skills}>
        {skills.slice(0, limit).map((skill, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a faulty card may use an id twice.
          <Skill key={at} agent={agent} skill={skill} />
        ))}
      </ul>
      {skills.length > limit && (
        <Button onClick={() => setLimit(limit + LISTED)}>{texts.more(skills.length - limit)}</Button>
      )}
    </>
  );
}

function Skill({ agent, skill }: { readonly agent: string; readonly skill: AgentSkill }): ReactNode {
  const { id, name, description, tags, examples, inputModes, outputModes } = skill;
  const { card: texts } = agentWords;
  const modes = [
    inputModes.length > 0 && `${texts.inputs} ${inputModes.join(", ")}`,
    outputModes.length > 0 && `${texts.outputs} ${outputModes.join(", ")}`,
  ].filter((each) => each !== false);
  return (
    <li className={css.skill}>
      <h3>{(name || id).slice(0, 200)}</h3>
      {description !== "" && <p className={css.description}>{description.slice(0, 1_000)}</p>}
      {tags.length > 0 && (
        <div className={ui.row}>
          {[...new Set(tags)].slice(0, 12).map((tag) => (
            <Badge key={tag}>{tag.slice(0, 40)}</Badge>
          ))}
        </div>
      )}
      {modes.map((each) => (
        <p key={each} className={`${ui.soft} ${ui.small}`}>
          {each.slice(0, 300)}
        </p>
      ))}
      {examples.length > 0 && (
        <div className={css.examples}>
          {[...new Set(examples)].slice(0, 6).map((text) => (
            <Link
              key={text}
              to="/talk"
              search={{ agent, text: text.slice(0, 2_000) }}
              className={css.example}
              title={texts.tryExample(text.slice(0, 200))}
            >
              <MessageSquare size={13} aria-hidden="true" />
              <span>{text.slice(0, 200)}</span>
            </Link>
          ))}
        </div>
      )}
    </li>
  );
}
