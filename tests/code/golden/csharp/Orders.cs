using System;
using System.Collections.Generic;
using static System.Math;
using Json = System.Text.Json.JsonSerializer;

namespace Shop.Orders
{
    /// <summary>Where orders are kept.</summary>
    public interface IStore
    {
        int Count { get; }
        void Save(Order order);
    }

    public enum Status { Open, Paid }

    public record Line(string Sku, int Count);

    public struct Money
    {
        public decimal Amount;
    }

    /// <summary>
    /// One order.
    /// </summary>
    [Serializable]
    public class Order : Entity, IComparable<Order>
    {
        public const int LinesMax = 100;
        private readonly List<Line> _lines = new();

        public event EventHandler Changed;

        public Order(int id) : base(id)
        {
            Validate(id);
        }

        public decimal Total { get; private set; }

        // Adds a line.
        public void Add(Line line)
        {
            _lines.Add(line);
            Total = Round(Sum(_lines), 2);
            Changed?.Invoke(this, EventArgs.Empty);
        }

        public async Task<Order> ReloadAsync<T>(T store) where T : IStore
        {
            await store.LoadAsync(Id);
            return new Order(Id);
        }

        public int CompareTo(Order other) => Total.CompareTo(other.Total);
    }
}
