#include <vector>
#include "shapes.hpp"

using std::vector;
using namespace geometry;

namespace geometry::flat {

/// Anything with an area.
class Shape {
public:
    explicit Shape(double scale) : scale_(scale) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;

    double scaled() const {
        return area() * scale_;
    }

    bool operator==(const Shape &other) const { return area() == other.area(); }

private:
    double scale_;
};

template <typename T>
struct Box : public Shape {
    T width, height;
    double area() const override;
};

enum class Color : int { Red, Green };

}  // namespace geometry::flat

// How large a box is.
template <typename T>
double geometry::flat::Box<T>::area() const {
    return static_cast<double>(width) * height;
}

Shape::~Shape() {
    release(this);
}

template <typename T>
T largest(const std::vector<T> &values) {
    auto best = values.front();
    for (const auto &value : values) {
        best = std::max(best, value);
    }
    return best;
}

int main() {
    auto box = new Box<int>();
    auto print = [](int n) { printf("%d\n", n); };
    print(box->scaled());
    return largest<int>({1, 2});
}
