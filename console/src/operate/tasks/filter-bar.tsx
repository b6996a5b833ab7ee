import { Popover } from "@base-ui/react/popover";
import { ChevronDown, Search, X } from "lucide-react";
import { type ReactNode, useId } from "react";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { states as stateNames } from "../../texts/states.js";
import { taskWords } from "../../texts/tasks.js";
import { absoluteTime } from "../../ui/format.js";
import { Button, css } from "../../ui/parts.js";
import { useTyped } from "../../ui/use-typed.js";
import { filterStates, nameOf, statesIn, statesText, type TaskSearch } from "./filter.js";
import { SavedFilters } from "./saved-filters-menu.js";
import page from "./tasks.module.css";

interface FilterProps {
  readonly search: TaskSearch;
  readonly onChange: (change: TaskSearch) => void;
}

const { filter: texts } = taskWords;

/** The filter of the list of tasks. What it says is in the page's address. */
export function FilterBar({ search, onChange }: FilterProps): ReactNode {
  return (
    <search className={css.stack} aria-label={texts.label}>
      <div className={css.row}>
        <SearchField search={search} onChange={onChange} />
        <StatesField search={search} onChange={onChange} />
        <MoreFields search={search} onChange={onChange} />
        <SavedFilters search={search} onChange={onChange} />
      </div>
      <Chips search={search} onChange={onChange} />
    </search>
  );
}

function SearchField({ search, onChange }: FilterProps): ReactNode {
  const [typed, setTyped] = useTyped(search.text ?? "", (text) => onChange({ text: text || undefined }));
  return (
    <div className={page.search}>
      <Search size={15} aria-hidden="true" />
      <input
        data-search=""
        type="search"
        className={css.input}
        aria-label={texts.text}
        placeholder={texts.text}
        maxLength={200}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </div>
  );
}

function Panel({ name, children }: { readonly name: ReactNode; readonly children: ReactNode }): ReactNode {
  return (
    <Popover.Root>
      <Popover.Trigger render={<Button />}>
        {name}
        <ChevronDown size={14} aria-hidden="true" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner align="start" sideOffset={4} style={{ zIndex: 20 }}>
          <Popover.Popup className={page.panel} aria-label={texts.label}>
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function StatesField({ search, onChange }: FilterProps): ReactNode {
  const chosen = statesIn(search.states);
  const toggle = (state: TaskState): void => {
    const states = chosen.includes(state) ? chosen.filter((each) => each !== state) : [...chosen, state];
    onChange({ states: statesText(filterStates.filter((each) => states.includes(each))) });
  };
  return (
    <Panel name={texts.states}>
      <fieldset className={page.states}>
        <legend className={css.hidden}>{texts.states}</legend>
        {filterStates.map((state) => (
          <label key={state} className={css.row}>
            <input
              type="checkbox"
              name={TaskState[state]}
              checked={chosen.includes(state)}
              onChange={() => toggle(state)}
            />
            {stateNames[state]}
          </label>
        ))}
      </fieldset>
    </Panel>
  );
}

function MoreFields({ search, onChange }: FilterProps): ReactNode {
  return (
    <Panel name={texts.more}>
      <div className={css.stack}>
        {(["owner", "tenant", "agent", "context"] as const).map((name) => (
          <NameField
            key={name}
            name={name}
            value={search[name] ?? ""}
            onValue={(value) => onChange({ [name]: value })}
          />
        ))}
        {(["from", "before"] as const).map((name) => (
          <TimeField key={name} name={name} value={search[name]} onValue={(value) => onChange({ [name]: value })} />
        ))}
        <label className={css.row}>
          <input
            type="checkbox"
            checked={search.unattended !== undefined}
            onChange={({ target }) => onChange({ unattended: target.checked ? "true" : undefined })}
          />
          <span>{texts.unattended}</span>
        </label>
      </div>
    </Panel>
  );
}

interface FieldProps {
  readonly name: "owner" | "tenant" | "agent" | "context" | "from" | "before";
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
}

function NameField({ name, value = "", onValue }: FieldProps): ReactNode {
  const id = useId();
  const [typed, setTyped] = useTyped(value, (text) => onValue(text || undefined));
  return (
    <div className={css.field}>
      <label htmlFor={id} className={css.label}>
        {texts[name]}
      </label>
      <input id={id} className={css.input} value={typed} onChange={({ target }) => setTyped(target.value)} />
    </div>
  );
}

/** Returns a time as a field of the viewer's zone has it. */
function localText(iso: string | undefined): string {
  const at = Date.parse(iso ?? "");
  if (Number.isNaN(at)) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function TimeField({ name, value, onValue }: FieldProps): ReactNode {
  const id = useId();
  const onText = (text: string): void => {
    const at = new Date(text);
    onValue(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
  };
  return (
    <div className={css.field}>
      <label htmlFor={id} className={css.label}>
        {texts[name]}
      </label>
      <input
        id={id}
        type="datetime-local"
        step={1}
        className={css.input}
        defaultValue={localText(value)}
        onChange={({ target }) => onText(target.value)}
      />
    </div>
  );
}

const none = {
  ...{ states: undefined, tenant: undefined, owner: undefined, agent: undefined, context: undefined },
  ...{ text: undefined, from: undefined, before: undefined, unattended: undefined },
} satisfies Record<keyof TaskSearch, undefined>;

/** The list's filters, each with a button that removes it. */
function Chips({ search, onChange }: FilterProps): ReactNode {
  const names = (Object.keys(none) as (keyof TaskSearch)[]).filter((name) => search[name] !== undefined);
  if (names.length === 0) return undefined;
  return (
    <ul className={css.row}>
      {names.map((name) => (
        <li key={name} className={page.chip}>
          <span>{texts.chip(texts.names[name], valueText(name, search[name] ?? ""))}</span>
          <button
            type="button"
            aria-label={texts.remove(texts.names[name])}
            onClick={() => onChange({ [name]: undefined })}
          >
            <X size={13} aria-hidden="true" />
          </button>
        </li>
      ))}
      <li>
        <Button kind="plain" onClick={() => onChange(none)}>
          {texts.clear}
        </Button>
      </li>
    </ul>
  );
}

function valueText(name: keyof TaskSearch, value: string): string {
  if (name === "states") return new Intl.ListFormat().format(statesIn(value).map((state) => stateNames[state]));
  if (name === "unattended") return texts.yes;
  if (name === "owner" && nameOf(value) === "") return taskWords.anonymous;
  if (name === "tenant" && nameOf(value) === "") return taskWords.defaultTenant;
  if (name !== "from" && name !== "before") return value;
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? value : absoluteTime(at);
}
