// The panels of the features: the buttons that open them, and the one that is open beside the chat.

import { createContext, useContext, useState } from "react";
import { features, type Panel, type PanelProps } from "../feature";
import { fetchPart } from "../state/page";

interface Panels {
  /** The name of the feature whose panel is open. */
  open: string | null;
  show: (name: string) => void;
  close: () => void;
}

const Context = createContext<Panels>({ open: null, show: () => {}, close: () => {} });

export const PanelsProvider = Context.Provider;

/** `onShow`: called before a panel opens. */
export function usePanels(onShow: () => void): Panels {
  const [open, setOpen] = useState<string | null>(null);
  const close = () => setOpen(null);
  const show = (name: string) => {
    onShow();
    setOpen(name);
    const panel = features().find((feature) => feature.name === name)?.panel;
    if (panel) fetchPart(panel.part, close);
  };
  return { open, show, close };
}

/** Opens the panel of a feature. */
export function useShow(): (name: string) => void {
  return useContext(Context).show;
}

export function SidePanel(props: Omit<PanelProps, "onClose">) {
  const { open, close } = useContext(Context);
  const panel = features().find(({ name }) => name === open)?.panel;
  return panel ? <OpenPanel key={open} part={panel.part} {...props} onClose={close} /> : null;
}

function OpenPanel({ part, ...props }: Pick<Panel, "part"> & PanelProps) {
  const Opened = part.use();
  return Opened && <Opened {...props} />;
}

function panelsIn(place: Panel["place"]): (Panel & { name: string })[] {
  return features().flatMap(({ name, panel }) => (panel?.place === place && panel.isOffered?.() !== false ? [{ ...panel, name }] : []));
}

/** Each opens its panel, and closes it again. */
export function TopBarButtons() {
  const { open, show, close } = useContext(Context);
  return panelsIn("top bar").map(({ name, label, testId, Icon }) => (
    <button
      key={name}
      type="button"
      className="top-button"
      data-testid={testId}
      aria-expanded={open === name}
      onClick={() => (open === name ? close() : show(name))}
      title={label}
    >
      <Icon />
      <span>{label}</span>
    </button>
  ));
}

export function SidebarButtons() {
  const { show } = useContext(Context);
  return panelsIn("sidebar").map(({ name, label, testId, Icon }) => (
    <button key={name} type="button" className="sidebar-foot" data-testid={testId} onClick={() => show(name)}>
      <Icon />
      {label}
    </button>
  ));
}
