import { useNavigate, useSearch } from "@tanstack/react-router";
import { Send } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type Delivery, DeliveryState } from "../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../api/admin.js";
import { operateWords } from "../texts/operate.js";
import { css, PageHead } from "../ui/parts.js";
import { deliveryColumns } from "./deliveries/columns.js";
import { type DeliveryKey, deliveryStates, keyIn, statesIn, textOfKey } from "./deliveries/delivery.js";
import { DeliveryDialog } from "./deliveries/delivery-dialog.js";
import { RedriveBar } from "./deliveries/redrive-bar.js";
import { FilterChoice, FilterField } from "./shared/fields.js";
import { namedFilter } from "./shared/filter.js";
import { NameFilters, type NameSearch } from "./shared/name-filters.js";
import { PagedRows } from "./shared/paged-list.js";
import { usePages } from "./shared/pages.js";

const { deliveries: texts } = operateWords;

/** Milliseconds between reads. */
const EVERY = 5_000;

const stateChoices = [
  ["", operateWords.all],
  ...deliveryStates.map((state) => [DeliveryState[state], texts.states[state]] as const),
] as const;

/** Push notifications and what became of them. */
export default function Page(): ReactNode {
  const search = useSearch({ from: "/operate/deliveries" });
  const navigate = useNavigate({ from: "/operate/deliveries" });
  const [chosen, setChosen] = useState<ReadonlyMap<string, DeliveryKey>>(new Map());
  const { states, task, target, open } = search;
  const named = { ...namedFilter(search), ...(target !== undefined && { target }) };
  const filter = { ...named, states: statesIn(states), ...(task !== undefined && { taskId: task }) };
  const list = usePages({
    key: ["deliveries", "list", filter],
    read: (page, signal) => admin.listDeliveries({ ...filter, ...page }, { signal }),
    rowsOf: ({ deliveries }) => deliveries,
    every: EVERY,
  });
  const change = (changed: typeof search, replace = true): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace });
  const onChoose = (delivery: Delivery): void => {
    if (delivery.state !== DeliveryState.DEAD) return;
    const key = textOfKey(delivery);
    const others = new Map(chosen);
    if (!others.delete(key)) others.set(key, delivery);
    setChosen(others);
  };
  const isChosen = (delivery: Delivery): boolean => chosen.has(textOfKey(delivery));
  const isFiltered = [states, task, target, search.owner, search.tenant].some((each) => each !== undefined);
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={texts.about} />
      <Filters search={search} onChange={change} />
      <div className={css.row}>
        <RedriveBar
          chosen={[...chosen.values()]}
          filter={named}
          isNarrower={task !== undefined}
          onDone={() => setChosen(new Map())}
        />
      </div>
      <PagedRows
        list={list}
        icon={<Send size={28} aria-hidden="true" />}
        emptyTitle={texts.noneTitle}
        empty={isFiltered ? texts.noMatch : texts.none}
        label={texts.title}
        columns={deliveryColumns({ isChosen, onChoose })}
        keyOf={textOfKey}
        current={open}
        onOpen={(delivery) => change({ open: textOfKey(delivery) }, false)}
        onChoose={onChoose}
        isChosen={isChosen}
      />
      <DeliveryDialog
        open={keyIn(open)}
        onClose={() => change({ open: undefined })}
        onDeleted={() => change({ open: undefined })}
      />
    </div>
  );
}

/** Filters of the list, as in the address. */
interface DeliverySearch extends NameSearch {
  readonly states?: string | undefined;
  readonly task?: string | undefined;
  readonly target?: string | undefined;
}

interface FiltersProps {
  readonly search: DeliverySearch;
  readonly onChange: (change: DeliverySearch) => void;
}

function Filters({ search, onChange }: FiltersProps): ReactNode {
  return (
    <search className={css.row} aria-label={operateWords.filter}>
      <FilterChoice
        label={operateWords.state}
        choices={stateChoices}
        value={search.states}
        onValue={(value) => onChange({ states: value })}
      />
      <NameFilters search={search} onChange={onChange} />
      <FilterField
        label={texts.target}
        placeholder={texts.targetHint}
        value={search.target}
        onValue={(value) => onChange({ target: value })}
      />
      <FilterField label={operateWords.task} value={search.task} onValue={(value) => onChange({ task: value })} />
    </search>
  );
}
