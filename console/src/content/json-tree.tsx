import type { JsonValue } from "@bufbuild/protobuf";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button, classes, css as ui } from "../ui/parts.js";
import css from "./content.module.css";

/** Members of one value that are shown at first, with each click as many more. */
const MEMBERS = 100;

/** Characters of a text that are shown at first. */
const TEXT = 400;

/** Level up to which values are open at first, and the deepest that is indented further. */
const OPEN_LEVELS = 2;
const MAX_INDENT = 10;

/** Levels that are shown. React's own recursion ends soon after. */
const MAX_LEVELS = 200;

/** Data as a tree. Only its open parts exist, so that its size and depth cost nothing. */
export function JsonTree({ value }: { readonly value: JsonValue }): ReactNode {
  return (
    <div className={css.tree}>
      <Node name={undefined} value={value} level={0} />
    </div>
  );
}

interface NodeProps {
  readonly name: string | undefined;
  readonly value: JsonValue;
  readonly level: number;
}

function Node({ name, value, level }: NodeProps): ReactNode {
  const isBranch = typeof value === "object" && value !== null;
  return isBranch ? <Branch name={name} value={value} level={level} /> : <Leaf name={name} value={value} />;
}

function Branch({ name, value, level }: NodeProps): ReactNode {
  const members = useMemo(() => Object.keys(value as object), [value]);
  const isList = Array.isArray(value);
  const [isOpen, setOpen] = useState(level < OPEN_LEVELS && members.length <= MEMBERS);
  const [limit, setLimit] = useState(MEMBERS);
  return (
    <div>
      <button type="button" className={css.branch} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={13} aria-hidden="true" className={classes(isOpen && css.turned)} />
        {name === undefined ? <span className={ui.hidden}>{contentWords.root}</span> : <Name name={name} />}
        <span className={css.size}>{isList ? `[${members.length}]` : `{${members.length}}`}</span>
      </button>
      {isOpen && level >= MAX_LEVELS && <p className={css.hint}>{contentWords.deep}</p>}
      {isOpen && level < MAX_LEVELS && (
        <div className={classes(level < MAX_INDENT && css.inner)}>
          {members.slice(0, limit).map((member) => (
            <Node
              key={member}
              name={member}
              value={(value as Record<string, JsonValue>)[member] ?? null}
              level={level + 1}
            />
          ))}
          {members.length > limit && (
            <Button onClick={() => setLimit(limit * 4)}>{contentWords.showItems(members.length - limit)}</Button>
          )}
        </div>
      )}
    </div>
  );
}

function Leaf({ name, value }: Omit<NodeProps, "level">): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : String(value);
  const isCut = text.length > TEXT && !isWhole;
  return (
    <div className={css.leaf}>
      {name !== undefined && <Name name={name} />}
      <span className={css[kindOf(value)]}>{isCut ? `${text.slice(0, TEXT)}…` : text.slice(0, 100_000)}</span>
      {isCut && <Button onClick={() => setWhole(true)}>{contentWords.showMore(text.length - TEXT)}</Button>}
    </div>
  );
}

function Name({ name }: { readonly name: string }): ReactNode {
  return <span className={css.name}>{name.length > 120 ? `${name.slice(0, 120)}…` : name}</span>;
}

function kindOf(value: JsonValue): "isText" | "isNumber" | "isOther" {
  if (typeof value === "string") return "isText";
  return typeof value === "number" ? "isNumber" : "isOther";
}
