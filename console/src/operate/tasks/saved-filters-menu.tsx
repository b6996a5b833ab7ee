import { Popover } from "@base-ui/react/popover";
import { Bookmark, X } from "lucide-react";
import { type FormEvent, type ReactNode, useId, useState, useSyncExternalStore } from "react";
import { taskWords } from "../../texts/tasks.js";
import { words } from "../../texts/words.js";
import { Button, css } from "../../ui/parts.js";
import type { TaskSearch } from "./filter.js";
import { savedFilters } from "./saved-filters.js";
import page from "./tasks.module.css";

interface SavedFiltersProps {
  readonly search: TaskSearch;
  readonly onChange: (change: TaskSearch) => void;
}

const { filter: texts } = taskWords;

/** Fields of a filter. A saved one also takes away what it does not name. */
const fields = ["states", "tenant", "owner", "agent", "context", "text", "from", "before", "unattended"] as const;

/** The filters that this browser keeps. */
export function SavedFilters({ search, onChange }: SavedFiltersProps): ReactNode {
  const saved = useSyncExternalStore(savedFilters.subscribe, savedFilters.get);
  const [isOpen, setOpen] = useState(false);
  const apply = (filter: TaskSearch): void => {
    onChange(Object.fromEntries(fields.map((name) => [name, filter[name]])));
    setOpen(false);
  };
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger render={<Button icon title={texts.saved} />}>
        <Bookmark size={15} aria-hidden="true" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner align="start" sideOffset={4} style={{ zIndex: 20 }}>
          <Popover.Popup className={page.panel} aria-label={texts.saved}>
            <div className={css.stack}>
              {saved.length === 0 && <p className={css.soft}>{texts.none}</p>}
              {saved.map(({ name, search: filter }) => (
                <div key={name} className={page.saved}>
                  <Button kind="plain" className={page.savedName} onClick={() => apply(filter)}>
                    {name}
                  </Button>
                  <Button kind="plain" icon title={texts.forget(name)} onClick={() => savedFilters.forget(name)}>
                    <X size={14} aria-hidden="true" />
                  </Button>
                </div>
              ))}
              <SaveForm search={search} />
            </div>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function SaveForm({ search }: Pick<SavedFiltersProps, "search">): ReactNode {
  const id = useId();
  const [name, setName] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    savedFilters.save(name.trim(), search);
    setName("");
  };
  return (
    <form onSubmit={submit} className={css.field}>
      <label htmlFor={id} className={css.label}>
        {texts.saveName}
      </label>
      <input id={id} className={css.input} value={name} onChange={({ target }) => setName(target.value)} />
      <Button type="submit" title={texts.save} disabled={name.trim() === ""}>
        {words.save}
      </Button>
    </form>
  );
}
