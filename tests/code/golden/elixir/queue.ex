defmodule Shop.Queue do
  @moduledoc "Keeps what is to be done."

  use GenServer
  import Ecto.Query, only: [from: 2]
  alias Shop.{Item, Store}
  alias Shop.Log, as: L
  require Logger

  @capacity_max 64
  defstruct [:name, items: []]

  @type t :: %__MODULE__{name: String.t()}
  @callback handle(Item.t()) :: :ok

  @doc "Add one."
  @spec add(t(), Item.t()) :: t()
  def add(queue, item) when is_map(item) do
    GenServer.call(queue, {:add, item})
    Logger.info("added")
  end

  def add(queue, _), do: queue

  # Only here.
  defp trim(text) do
    text |> String.trim() |> clean()
  end

  defmacro deferred(block) do
    quote do: unquote(block)
  end

  defguard is_full(queue) when length(queue.items) > 3

  def left <~> right, do: left

  def size, do: 0

  defmodule Worker do
    def run(), do: Store.open("a")
  end
end

defprotocol Shop.Size do
  def size(data)
end

defimpl Shop.Size, for: Shop.Queue do
  def size(queue), do: length(queue.items)
end

defmodule Shop.QueueTest do
  use ExUnit.Case

  test "adds one" do
    assert Shop.Queue.size() == 0
  end
end
